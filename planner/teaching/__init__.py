"""The workbook that teaches: the worked problems of the field's two source works, each a live formula."""
