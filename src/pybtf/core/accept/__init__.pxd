# The rules by which kernels accept BTF.
