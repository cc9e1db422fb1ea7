#include "autodiff/kernels/gemm.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "Eigen/Core"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

thread_local int64_t gemm_flops = 0;

// A buffer that only grows.
template <typename T>
class PackingBuffer {
 public:
  T* AtLeast(int64_t size) {
    if (size > size_) {
      size_ = std::max(size, 2 * size_);
      memory_.reset(static_cast<T*>(std::aligned_alloc(
          64, (sizeof(T) * static_cast<size_t>(size_) + 63) / 64 * 64)));
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> memory_;
  int64_t size_ = 0;
};

// Eigen takes its blocking from the cache sizes of the machine it runs on;
// pinning them keeps the bits the same on every machine.
void PinCacheSizes() {
  static const bool pinned = [] {
    Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 8 << 20);
    return true;
  }();
  (void)pinned;
}

// Eigen's blocking with packing buffers of ours.
template <typename T>
class Blocking : public Eigen::internal::level3_blocking<T, T> {
 public:
  Blocking(Eigen::Index rows, Eigen::Index cols, Eigen::Index depth) {
    thread_local PackingBuffer<T> buffer_a;
    thread_local PackingBuffer<T> buffer_b;
    this->m_mc = rows;
    this->m_nc = cols;
    this->m_kc = depth;
    Eigen::internal::computeProductBlockingSizes<T, T>(this->m_kc, this->m_mc,
                                                       this->m_nc);
    this->m_blockA = buffer_a.AtLeast(this->m_mc * this->m_kc);
    this->m_blockB = buffer_b.AtLeast(this->m_kc * this->m_nc);
  }
};

// Eigen's product is column-major: row-major c = a b is c' = b' a', where the
// transposes are the same memory read the other way.
template <typename T, int kOrderB, int kOrderA>
void RunProduct(const ConstMatrix<T>& a, const ConstMatrix<T>& b,
                const MutableMatrix<T>& c, T alpha) {
  Blocking<T> blocking(c.cols, c.rows, a.cols);
  Eigen::internal::general_matrix_matrix_product<
      Eigen::Index, T, kOrderB, false, T, kOrderA, false, Eigen::ColMajor,
      1>::run(c.cols, c.rows, a.cols, b.data, b.stride, a.data, a.stride,
              c.data, 1, c.stride, alpha, blocking, nullptr);
}

// Eigen's kernel computes the last columns, fewer than a packet, in an order
// that depends on the number of rows. These few are ours: each element is one
// chain of additions over the inner extent.
template <typename T>
constexpr int64_t kPanel = Eigen::internal::packet_traits<T>::size;

// Rows first .. first + kRows - 1 of c += alpha a panel; panel [k, kPanel].
template <typename T, int kRows>
void RunPanelRows(const ConstMatrix<T>& a, const T* panel,
                  const MutableMatrix<T>& c, int64_t first, T alpha) {
  T sums[kRows][kPanel<T>] = {};
  const int64_t row_step = a.transposed ? 1 : a.stride;
  const int64_t depth_step = a.transposed ? a.stride : 1;
  const T* rows = a.data + first * row_step;
  for (int64_t l = 0; l < a.cols; ++l) {
    for (int i = 0; i < kRows; ++i) {
      const T factor = rows[i * row_step + l * depth_step];
      for (int64_t j = 0; j < kPanel<T>; ++j) {
        sums[i][j] += factor * panel[l * kPanel<T> + j];
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    T* out = c.data + (first + i) * c.stride;
    for (int64_t j = 0; j < c.cols; ++j) out[j] += alpha * sums[i][j];
  }
}

// c += alpha a b for fewer columns than a packet has.
template <typename T>
void RunPanel(const ConstMatrix<T>& a, const ConstMatrix<T>& b,
              const MutableMatrix<T>& c, T alpha) {
  thread_local PackingBuffer<T> buffer;
  T* const panel = buffer.AtLeast(a.cols * kPanel<T>);
  const int64_t row_step = b.transposed ? 1 : b.stride;
  const int64_t col_step = b.transposed ? b.stride : 1;
  for (int64_t l = 0; l < a.cols; ++l) {
    for (int64_t j = 0; j < kPanel<T>; ++j) {
      panel[l * kPanel<T> + j] =
          j < c.cols ? b.data[l * row_step + j * col_step] : T(0);
    }
  }
  int64_t row = 0;
  for (; row + 4 <= c.rows; row += 4)
    RunPanelRows<T, 4>(a, panel, c, row, alpha);
  for (; row < c.rows; ++row) RunPanelRows<T, 1>(a, panel, c, row, alpha);
}

// c += alpha a b by Eigen; c has whole packets of columns.
template <typename T>
void RunWhole(const ConstMatrix<T>& a, const ConstMatrix<T>& b,
              const MutableMatrix<T>& c, T alpha) {
  constexpr int kRow = Eigen::RowMajor;
  constexpr int kCol = Eigen::ColMajor;
  if (b.transposed) {
    if (a.transposed) {
      RunProduct<T, kRow, kRow>(a, b, c, alpha);
    } else {
      RunProduct<T, kRow, kCol>(a, b, c, alpha);
    }
  } else {
    if (a.transposed) {
      RunProduct<T, kCol, kRow>(a, b, c, alpha);
    } else {
      RunProduct<T, kCol, kCol>(a, b, c, alpha);
    }
  }
}

// Eigen's kernel takes four rows at a time, and up to three packets of columns.
// Where one packet is left, it adds in two chains for four rows but in one for
// the rows left over: these get company of zeros.
template <typename T>
void RunLastRows(const ConstMatrix<T>& a, const ConstMatrix<T>& b,
                 const MutableMatrix<T>& c, T alpha) {
  constexpr int64_t kRows = 4;
  thread_local PackingBuffer<T> buffer_a;
  thread_local PackingBuffer<T> buffer_c;
  T* const padded_a = buffer_a.AtLeast(kRows * a.cols);
  T* const padded_c = buffer_c.AtLeast(kRows * c.cols);
  const int64_t row_step = a.transposed ? 1 : a.stride;
  const int64_t depth_step = a.transposed ? a.stride : 1;
  std::fill_n(padded_a, kRows * a.cols, T(0));
  std::fill_n(padded_c, kRows * c.cols, T(0));
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t l = 0; l < a.cols; ++l) {
      padded_a[i * a.cols + l] = a.data[i * row_step + l * depth_step];
    }
    std::copy_n(c.data + i * c.stride, c.cols, padded_c + i * c.cols);
  }
  RunWhole<T>({padded_a, kRows, a.cols}, b, {padded_c, kRows, c.cols}, alpha);
  for (int64_t i = 0; i < c.rows; ++i) {
    std::copy_n(padded_c + i * c.cols, c.cols, c.data + i * c.stride);
  }
}

}  // namespace

template <typename T>
void Gemm(ConstMatrix<T> a, ConstMatrix<T> b, MutableMatrix<T> c, GemmMode mode,
          T alpha) {
  REGARD_CHECK_EQ(a.rows, c.rows) << "rows of the product";
  REGARD_CHECK_EQ(b.cols, c.cols) << "columns of the product";
  REGARD_CHECK_EQ(a.cols, b.rows) << "inner extent of the product";
  if (mode == GemmMode::kAssign) {
    for (int64_t i = 0; i < c.rows; ++i) {
      std::fill_n(c.data + i * c.stride, c.cols, T(0));
    }
  }
  if (c.rows == 0 || c.cols == 0 || a.cols == 0) return;
  gemm_flops += 2 * c.rows * c.cols * a.cols;
  const int64_t whole = c.cols / kPanel<T> * kPanel<T>;
  if (whole < c.cols) {
    const int64_t offset = whole * (b.transposed ? b.stride : 1);
    RunPanel<T>(
        a, {b.data + offset, b.rows, c.cols - whole, b.stride, b.transposed},
        {c.data + whole, c.rows, c.cols - whole, c.stride}, alpha);
  }
  if (whole == 0) return;
  b.cols = c.cols = whole;
  PinCacheSizes();
  const bool one_packet_left = whole / kPanel<T> % 3 == 1;
  const int64_t last_rows = one_packet_left ? c.rows % 4 : 0;
  const int64_t first_rows = c.rows - last_rows;
  if (first_rows > 0) {
    ConstMatrix<T> first_a = a;
    MutableMatrix<T> first_c = c;
    first_a.rows = first_c.rows = first_rows;
    RunWhole(first_a, b, first_c, alpha);
  }
  if (last_rows == 0) return;
  a.data += first_rows * (a.transposed ? 1 : a.stride);
  c.data += first_rows * c.stride;
  a.rows = c.rows = last_rows;
  RunLastRows(a, b, c, alpha);
}

int64_t GemmFlops() { return gemm_flops; }

template void Gemm(ConstMatrix<float>, ConstMatrix<float>, MutableMatrix<float>,
                   GemmMode, float);
template void Gemm(ConstMatrix<double>, ConstMatrix<double>,
                   MutableMatrix<double>, GemmMode, double);

}  // namespace regard
