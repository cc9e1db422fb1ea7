// Interface of a float matrix product in one library, which product_server.cc
// times. This is a C header, because the other libraries have C interfaces.
#ifndef TOOLS_PEERS_PRODUCTS_PRODUCT_H_
#define TOOLS_PEERS_PRODUCTS_PRODUCT_H_

#ifdef __cplusplus
extern "C" {
#endif

// c [rows, columns] = a [rows, inner] b [inner, columns], row-major. A
// transposed operand is stored as [inner, rows] or [columns, inner].
struct ProductSpec {
  int rows;
  int inner;
  int columns;
  int left_transposed;
  int right_transposed;
  int in_bfloat16;  // whether operands are rounded to bfloat16
};

// Prepares matrix products of this shape with this right operand. Packs the
// operand if `packed`. Returns 0 if the library does not support this.
int PrepareProduct(const struct ProductSpec* shape, const float* b, int packed);

// Computes the matrix product with one thread. `b` is the operand of
// PrepareProduct().
void ComputeProduct(const float* a, const float* b, float* c);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TOOLS_PEERS_PRODUCTS_PRODUCT_H_
