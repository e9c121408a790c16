# The class of each type: types of equal content get one number.
