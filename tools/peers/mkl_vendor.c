// oneMKL checks whether the processor is Intel's, and uses slow kernels if it is
// not. If this library is preloaded, the check succeeds.
int mkl_serv_intel_cpu_true(void) { return 1; }
