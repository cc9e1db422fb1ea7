// Matrix products of a BLAS, by the Fortran interface that all libraries have.
// This interface is column-major, so this file computes the transposed product,
// with the operands in reverse order. With PACKED_SGEMM, also uses oneMKL's
// products with a packed operand.
#include <stddef.h>
#include <stdlib.h>

#include "tools/peers/products/product.h"

void sgemm_(const char* trans_a, const char* trans_b, const int* m,
            const int* n, const int* k, const float* alpha, const float* a,
            const int* lda, const float* b, const int* ldb, const float* beta,
            float* c, const int* ldc);
size_t sgemm_pack_get_size(const char* which, const int* m, const int* n,
                           const int* k);
void sgemm_pack(const char* which, const char* trans, const int* m,
                const int* n, const int* k, const float* alpha,
                const float* source, const int* ld, float* packed);
void sgemm_compute(const char* trans_a, const char* trans_b, const int* m,
                   const int* n, const int* k, const float* a, const int* lda,
                   const float* b, const int* ldb, const float* beta, float* c,
                   const int* ldc);

static struct ProductSpec shape;
static float* panels;
static const float kOne = 1;
static const float kZero = 0;

static const char* Trans(int transposed) { return transposed ? "T" : "N"; }

static int RightStride(void) {
  return shape.right_transposed ? shape.inner : shape.columns;
}

int PrepareProduct(const struct ProductSpec* wanted, const float* b,
                   int packed) {
  if (wanted->in_bfloat16) return 0;
  shape = *wanted;
  free(panels);
  panels = NULL;
  if (!packed) return 1;
#ifdef PACKED_SGEMM
  const int stride = RightStride();
  const size_t size =
      sgemm_pack_get_size("A", &shape.columns, &shape.rows, &shape.inner);
  panels = aligned_alloc(64, (size + 63) / 64 * 64);
  sgemm_pack("A", Trans(shape.right_transposed), &shape.columns, &shape.rows,
             &shape.inner, &kOne, b, &stride, panels);
  return 1;
#else
  (void)b;
  return 0;
#endif
}

void ComputeProduct(const float* a, const float* b, float* c) {
  const int stride = RightStride();
  const int left_stride = shape.left_transposed ? shape.rows : shape.inner;
#ifdef PACKED_SGEMM
  if (panels != NULL) {
    sgemm_compute("P", Trans(shape.left_transposed), &shape.columns,
                  &shape.rows, &shape.inner, panels, &stride, a, &left_stride,
                  &kZero, c, &shape.columns);
    return;
  }
#endif
  sgemm_(Trans(shape.right_transposed), Trans(shape.left_transposed),
         &shape.columns, &shape.rows, &shape.inner, &kOne, b, &stride, a,
         &left_stride, &kZero, c, &shape.columns);
}
