// Matrix products of oneDNN, by version 2 of its C interface. Its matmul may
// choose the layout of a packed right operand.
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/peers/products/product.h"

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_primitive_t product;
static dnnl_memory_t operands[3];  // left, right and result

static void Require(dnnl_status_t status) {
  if (status == dnnl_success) return;
  fprintf(stderr, "oneDNN: status %d\n", (int)status);
  exit(1);
}

static dnnl_memory_desc_t Describe(int rows, int columns,
                                   dnnl_format_tag_t layout) {
  const dnnl_dims_t extents = {rows, columns};
  dnnl_memory_desc_t found;
  Require(dnnl_memory_desc_init_by_tag(&found, 2, extents, dnnl_f32, layout));
  return found;
}

static dnnl_format_tag_t Layout(int transposed) {
  return transposed ? dnnl_ba : dnnl_ab;
}

static void Execute(dnnl_primitive_t primitive, int count,
                    const dnnl_exec_arg_t* arguments) {
  Require(dnnl_primitive_execute(primitive, stream, count, arguments));
  Require(dnnl_stream_wait(stream));
}

// Returns an array of oneDNN that contains the right operand in the layout
// `chosen`.
static dnnl_memory_t Packed(const dnnl_memory_desc_t* plain,
                            const dnnl_memory_desc_t* chosen, const float* b) {
  dnnl_memory_t from, to;
  dnnl_primitive_desc_t description;
  dnnl_primitive_t reorder;
  Require(dnnl_memory_create(&from, plain, engine, (void*)b));
  Require(dnnl_memory_create(&to, chosen, engine, DNNL_MEMORY_ALLOCATE));
  Require(dnnl_reorder_primitive_desc_create(&description, plain, engine,
                                             chosen, engine, NULL));
  Require(dnnl_primitive_create(&reorder, description));
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from},
                                       {DNNL_ARG_TO, to}};
  Execute(reorder, 2, arguments);
  Require(dnnl_primitive_destroy(reorder));
  Require(dnnl_primitive_desc_destroy(description));
  Require(dnnl_memory_destroy(from));
  return to;
}

int PrepareProduct(const struct ProductSpec* shape, const float* b,
                   int packed) {
  if (shape->in_bfloat16) return 0;
  if (engine == NULL) {
    Require(dnnl_engine_create(&engine, dnnl_cpu, 0));
    Require(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
  } else {
    Require(dnnl_primitive_destroy(product));
    for (int i = 0; i < 3; ++i) Require(dnnl_memory_destroy(operands[i]));
  }
  const dnnl_memory_desc_t left =
      Describe(shape->rows, shape->inner, Layout(shape->left_transposed));
  const dnnl_memory_desc_t plain =
      Describe(shape->inner, shape->columns, Layout(shape->right_transposed));
  const dnnl_memory_desc_t right =
      packed ? Describe(shape->inner, shape->columns, dnnl_format_tag_any)
             : plain;
  const dnnl_memory_desc_t result =
      Describe(shape->rows, shape->columns, dnnl_ab);
  dnnl_matmul_desc_t wanted;
  dnnl_primitive_desc_t description;
  Require(dnnl_matmul_desc_init(&wanted, &left, &right, NULL, &result));
  Require(dnnl_primitive_desc_create(&description, &wanted, NULL, engine,
                                     NULL));
  Require(dnnl_primitive_create(&product, description));
  Require(dnnl_memory_create(&operands[0], &left, engine, DNNL_MEMORY_NONE));
  if (packed) {
    operands[1] = Packed(
        &plain,
        dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0), b);
  } else {
    Require(
        dnnl_memory_create(&operands[1], &plain, engine, (void*)b));
  }
  Require(dnnl_memory_create(&operands[2], &result, engine, DNNL_MEMORY_NONE));
  Require(dnnl_primitive_desc_destroy(description));
  return 1;
}

void ComputeProduct(const float* a, const float* b, float* c) {
  (void)b;  // already set by PrepareProduct()
  Require(dnnl_memory_set_data_handle(operands[0], (void*)a));
  Require(dnnl_memory_set_data_handle(operands[2], c));
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, operands[0]},
                                       {DNNL_ARG_WEIGHTS, operands[1]},
                                       {DNNL_ARG_DST, operands[2]}};
  Execute(product, 3, arguments);
}
