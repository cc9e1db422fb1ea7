#include "autodiff/kernels/bfloat16_product.h"

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/packing_buffer.h"
#include "autodiff/worker_pool.h"

namespace regard {

namespace {

// The number of columns that are processed at a time. Their packed panels and
// the rounded rows of the left operand (Bfloat16Backend::rows) share the
// second-level cache.
constexpr int64_t kColumnsAtATime = 16 * kPairPanel;

// The matrix to which a product is added. If there is no such matrix, all rows
// and panels read the same row of zeros.
struct Addend {
  const float* data;
  int64_t stride;
  int64_t panel_step;

  const float* At(int64_t row, int64_t col) const {
    return data + row * stride + col / kPairPanel * panel_step;
  }
};
alignas(64) constexpr float kZeros[kPairPanel] = {};

class Product {
 public:
  Product(const Bfloat16Backend& backend, const ConstMatrix<float>& a,
          const ConstMatrix<float>& b, const MutableMatrix<float>& c)
      : backend_(backend), a_(a), b_(b), c_(c) {}

  // Computes columns begin .. end - 1 for the inner indices first .. first +
  // depth - 1.
  void Run(int64_t begin, int64_t end, int64_t first, int64_t depth,
           const Addend& addend) const {
    thread_local PackingBuffer<uint32_t> rows_buffer;
    thread_local PackingBuffer<uint32_t> panels_buffer;
    uint32_t* const rounded = rows_buffer.AtLeast(
        std::min(backend_.rows, c_.rows) * backend_.row_words);
    const bool packs = b_.pairs == nullptr;
    // If each panel is read only once, all panels use the same memory.
    const bool once = c_.rows <= backend_.rows;
    const int64_t panels = (end - begin + kPairPanel - 1) / kPairPanel;
    const int64_t size = PairPanelSize(depth);
    uint32_t* const packed =
        packs ? panels_buffer.AtLeast((once ? 1 : panels) * size) : nullptr;
    for (int64_t i = 0; i < c_.rows; i += backend_.rows) {
      const int64_t rows = std::min(backend_.rows, c_.rows - i);
      backend_.round_rows(a_, i, rows, first, depth, rounded);
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t col = begin + p * kPairPanel;
        const uint32_t* of_b = nullptr;
        if (packs) {
          uint32_t* const panel = packed + (once ? 0 : p * size);
          if (i == 0) backend_.round_panel(b_, first, depth, col, panel);
          of_b = panel;
        } else {
          of_b = b_.pairs + col / kPairPanel * PairPanelSize(b_.rows) +
                 PairPanelSize(first);
        }
        backend_.multiply({.a = rounded,
                           .rows = rows,
                           .b = of_b,
                           .cols = std::min(kPairPanel, end - col),
                           .depth = depth,
                           .c = c_.data + i * c_.stride + col,
                           .c_stride = c_.stride,
                           .addend = addend.At(i, col),
                           .addend_stride = addend.stride});
      }
    }
  }

 private:
  const Bfloat16Backend& backend_;
  const ConstMatrix<float>& a_;
  const ConstMatrix<float>& b_;
  const MutableMatrix<float>& c_;
};

}  // namespace

void RunBfloat16Product(const Bfloat16Backend& backend,
                        const ConstMatrix<float>& a,
                        const ConstMatrix<float>& b, const float* addend,
                        int64_t addend_stride, const MutableMatrix<float>& c,
                        int64_t begin, int64_t end) {
  const ScopedFlushDenormals flush;
  if (backend.begin != nullptr) backend.begin();
  const Product product(backend, a, b, c);
  const Addend of_product = addend == nullptr
                                ? Addend{kZeros, /*stride=*/0, /*panel_step=*/0}
                                : Addend{addend, addend_stride, kPairPanel};
  for (int64_t col = begin; col < end; col += kColumnsAtATime) {
    const int64_t last = std::min(col + kColumnsAtATime, end);
    for (int64_t first = 0; first < a.cols; first += kBfloat16Depth) {
      product.Run(
          col, last, first, std::min(kBfloat16Depth, a.cols - first),
          first == 0 ? of_product : Addend{c.data, c.stride, kPairPanel});
    }
  }
  if (backend.end != nullptr) backend.end();
}

}  // namespace regard
