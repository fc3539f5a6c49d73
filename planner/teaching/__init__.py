"""The teaching workbook: worked problems of the field's two source works, each as live formulas."""
