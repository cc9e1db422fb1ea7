// oneMKL asks whether the processor is Intel's, and takes slow kernels if it is
// not. Preloaded, this answers yes.
int mkl_serv_intel_cpu_true(void) { return 1; }
