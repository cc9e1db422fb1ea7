// One matrix product in float, as a library computes it; product_server.cc
// times it. C, since the other libraries' sides are C.
#ifndef TOOLS_PEERS_PRODUCTS_PRODUCT_H_
#define TOOLS_PEERS_PRODUCTS_PRODUCT_H_

#ifdef __cplusplus
extern "C" {
#endif

// c [rows, columns] = a [rows, inner] b [inner, columns], row by row. A
// transposed operand is stored as [inner, rows] or [columns, inner].
struct ProductShape {
  int rows;
  int inner;
  int columns;
  int left_transposed;
  int right_transposed;
};

// Prepares for products of this shape with this right operand, which is laid
// out in advance if `packed`. Returns 0 if the library cannot do that.
int PrepareProduct(const struct ProductShape* shape, const float* b,
                   int packed);

// `b` is that of PrepareProduct(). One thread.
void ComputeProduct(const float* a, const float* b, float* c);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TOOLS_PEERS_PRODUCTS_PRODUCT_H_
