#include "autodiff/kernels/gemm.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "autodiff/instantiate.h"
#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/bfloat16_backends.h"
#include "autodiff/kernels/bfloat16_product.h"
#include "autodiff/kernels/gemm_across.h"
#include "autodiff/kernels/gemm_kernel.h"
#include "autodiff/kernels/packing_buffer.h"
#include "autodiff/worker_pool.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

thread_local int64_t gemm_flops = 0;
thread_local int64_t rounded_gemm_flops = 0;

// A product with at least this many multiply-adds is split among threads. A
// product of this size takes 4 microseconds, or 20 if it has one row. If two
// threads are already waiting for work, splitting pays off for products that
// take more than 3 microseconds.
constexpr int64_t kMinToCut = int64_t{1} << 19;

// The number of panels that are processed at a time, packed or in place. With
// kGemmDepth rows, they fill a part of the second-level cache.
constexpr int64_t kPanelsPacked = 5;
constexpr int64_t kPanelsInPlace = 10;
// The number of rows of the left operand that are multiplied with a group of
// panels at a time. These rows fill another part of the second-level cache.
constexpr int64_t kRowsAtATime = 128;

// Returns the distance between packed tiles of rows. One additional cache line
// per tile keeps the tiles from competing for the same cache sets.
template <typename T>
constexpr int64_t TileStep(int64_t depth) {
  return depth * kGemmRows + 64 / static_cast<int64_t>(sizeof(T));
}

// Packs a part of the transposed operand `a` as tiles [depth, kGemmRows]. The
// part is rows row .. row + rows - 1 and columns first .. first + depth - 1.
template <typename T>
void PackRows(const ConstMatrix<T>& a, int64_t row, int64_t rows, int64_t first,
              int64_t depth, T* tiles) {
  for (int64_t l = 0; l < depth; ++l) {
    const T* const from = At(a, row, first + l);
    T* tile = tiles + l * kGemmRows;
    int64_t i = 0;
    for (; i + kGemmRows <= rows; i += kGemmRows, tile += TileStep<T>(depth)) {
      std::copy_n(from + i, kGemmRows, tile);
    }
    std::copy_n(from + i, rows - i, tile);
  }
}

template <typename T>
class Product {
 public:
  Product(const ConstMatrix<T>& a, const ConstMatrix<T>& b,
          const MutableMatrix<T>& c, T alpha)
      : a_(a), b_(b), c_(c), alpha_(alpha) {}

  // Computes columns begin .. end - 1 of c = addend + alpha a b. `begin` is a
  // multiple of kGemmPanel. An operand that is not read in place is packed
  // block by block.
  void Run(GemmAddend<T> addend, int64_t begin, int64_t end) const {
    if (ReadsAcross()) return RunAcrossColumns(addend, begin, end);
    for (int64_t j = begin; j < end;) {
      const int64_t cols = ColumnsAtATime(end - j);
      for (int64_t first = 0; first < a_.cols; first += kGemmDepth) {
        const Block block = {
            first, std::min(kGemmDepth, a_.cols - first), j, cols,
            first == 0 ? addend : GemmAddend<T>{c_.data, c_.stride}};
        const T* const packed = PackColumns(block);
        for (int64_t i = 0; i < c_.rows; i += kRowsAtATime) {
          RunBlock(block, i, std::min(kRowsAtATime, c_.rows - i), packed);
        }
      }
      j += cols;
    }
  }

 private:
  bool ReadsAcross() const {
    return c_.rows <= kGemmFewRows && !a_.transposed && b_.transposed &&
           b_.panels == nullptr;
  }

  // Variant of Run() for few rows. Reads a few columns completely before it
  // continues with the next columns.
  void RunAcrossColumns(GemmAddend<T> addend, int64_t begin,
                        int64_t end) const {
    const int64_t most = PacketsPerPass<T>(c_.rows, b_.stride) * kPacketSize<T>;
    for (int64_t j = begin; j < end; j += most) {
      const int64_t cols = std::min(most, end - j);
      for (int64_t first = 0; first < a_.cols; first += kGemmDepth) {
        const int64_t depth = std::min(kGemmDepth, a_.cols - first);
        const Block block = {
            first, depth, j, cols,
            first == 0 ? addend : GemmAddend<T>{c_.data, c_.stride}};
        const T* next = nullptr;
        if (first + kGemmDepth < a_.cols) {
          next = At(b_, first + kGemmDepth, j);
        } else if (j + 2 * most <= end) {
          next = At(b_, 0, j + most);
        }
        MultiplyTransposed<T>(
            {At(a_, 0, first), a_.stride, 1}, {b_, first, depth, j, cols, next},
            c_.rows,
            {c_.data + j, c_.stride, cols, alpha_, block.AddendAt(0, j)});
      }
    }
  }

  // Returns how many of the `left` remaining columns are computed at a time.
  // The second-level cache must hold the packed panels, the sums of several
  // pieces of kGemmDepth, and the columns that are read again for other rows. A
  // small remainder joins the last group.
  int64_t ColumnsAtATime(int64_t left) const {
    const bool packs = b_.transposed && b_.panels == nullptr;
    if (!packs && a_.cols <= kGemmDepth && c_.rows <= kRowsAtATime) return left;
    const int64_t panels = packs ? kPanelsPacked : kPanelsInPlace;
    const int64_t usual = panels * kGemmPanel<T>;
    return left < usual + usual / 2 ? left : usual;
  }

  // A range of inner indices and columns.
  struct Block {
    int64_t first, depth, col, cols;
    GemmAddend<T> addend;

    GemmAddend<T> AddendAt(int64_t row, int64_t at) const {
      if (addend.data == nullptr) return addend;
      return {addend.data + row * addend.stride + at, addend.stride};
    }

    // Returns the number of columns that can be read in place, a multiple of
    // the packet size.
    int64_t InPlace(const ConstMatrix<T>& b) const {
      if (b.transposed || b.panels != nullptr) return 0;
      return cols / kPacketSize<T> * kPacketSize<T>;
    }
  };

  // Returns the columns that cannot be read in place, packed as panels at a
  // distance of PanelStep().
  const T* PackColumns(const Block& block) const {
    if (b_.panels != nullptr) {
      return b_.panels + block.col * b_.rows + block.first * kGemmPanel<T>;
    }
    thread_local PackingBuffer<T> buffer;
    const int64_t begin = block.InPlace(b_);
    const int64_t panels =
        (block.cols - begin + kGemmPanel<T> - 1) / kGemmPanel<T>;
    const int64_t size = kGemmPanel<T> * block.depth;
    T* const packed = buffer.AtLeast(panels * size);
    for (int64_t p = 0; p < panels; ++p) {
      PackPanel(b_, block.first, block.depth,
                block.col + begin + p * kGemmPanel<T>, packed + p * size);
    }
    return packed;
  }

  int64_t PanelStep(const Block& block) const {
    return kGemmPanel<T> * (b_.panels != nullptr ? b_.rows : block.depth);
  }

  void RunBlock(const Block& block, int64_t row, int64_t rows,
                const T* packed) const {
    thread_local PackingBuffer<T> buffer;
    GemmLeftRows<T> of_a = {At(a_, row, block.first), a_.stride, 1};
    int64_t tile_step = kGemmRows * a_.stride;
    if (a_.transposed) {
      tile_step = TileStep<T>(block.depth);
      const int64_t tiles = (rows + kGemmRows - 1) / kGemmRows;
      T* const tile = buffer.AtLeast(tiles * tile_step);
      PackRows(a_, row, rows, block.first, block.depth, tile);
      of_a = {tile, 1, kGemmRows};
    }
    const int64_t in_place = block.InPlace(b_);
    const int64_t panel_step = PanelStep(block);
    for (int64_t j = 0; j < block.cols;) {
      const bool is_packed = j >= in_place;
      const int64_t end = is_packed ? block.cols : in_place;
      const int64_t cols = std::min(kGemmPanel<T>, end - j);
      const Panel<T> of_b =
          is_packed
              ? Panel<T>{packed + (j - in_place) / kGemmPanel<T> * panel_step,
                         kGemmPanel<T>}
              : Panel<T>{At(b_, block.first, block.col + j), b_.stride};
      GemmLeftRows<T> tile = of_a;
      for (int64_t i = 0; i < rows; i += kGemmRows) {
        RunTile<T>(tile, of_b, block.depth,
                   std::min<int64_t>(kGemmRows, rows - i),
                   {c_.data + (row + i) * c_.stride + block.col + j, c_.stride,
                    cols, alpha_, block.AddendAt(row + i, block.col + j)});
        tile.data += tile_step;
      }
      j += cols;
    }
  }

  const ConstMatrix<T>& a_;
  const ConstMatrix<T>& b_;
  const MutableMatrix<T>& c_;
  const T alpha_;
};

// Calls run(begin, end) for ranges of the `cols` columns. If a product has many
// multiply-adds, the threads of this thread's InferenceThreads share the
// ranges. Ranges begin at multiples of `panel`.
template <typename F>
void ForColumns(int64_t cols, int64_t multiply_adds, int64_t panel,
                const F& run) {
  WorkerPool* const pool =
      multiply_adds < kMinToCut ? nullptr : InferenceThreads::Pool();
  if (pool == nullptr) return run(0, cols);
  const int64_t panels = (cols + panel - 1) / panel;
  const int64_t parts = std::min<int64_t>(pool->threads(), panels);
  const auto begin_of = [&](int64_t part) {
    return std::min(cols, panels * part / parts * panel);
  };
  pool->Run(parts,
            [&](int64_t part) { run(begin_of(part), begin_of(part + 1)); });
}

template <typename T>
void Multiply(const ConstMatrix<T>& a, const ConstMatrix<T>& b,
              GemmAddend<T> addend, const MutableMatrix<T>& c, T alpha,
              ProductPrecision precision) {
  REGARD_CHECK_EQ(a.rows, c.rows) << "rows of the product";
  REGARD_CHECK_EQ(b.cols, c.cols) << "columns of the product";
  REGARD_CHECK_EQ(a.cols, b.rows) << "inner extent of the product";
  for (int64_t i = 0; a.cols == 0 && i < c.rows; ++i) {
    T* const row = c.data + i * c.stride;
    if (addend.data == nullptr) {
      std::fill_n(row, c.cols, T(0));
    } else if (addend.data != c.data) {
      std::copy_n(addend.data + i * addend.stride, c.cols, row);
    }
  }
  if (c.rows == 0 || c.cols == 0) return;
  const int64_t multiply_adds = c.rows * c.cols * a.cols;
  gemm_flops += 2 * multiply_adds;
  if constexpr (std::is_same_v<T, float>) {
    if (precision == ProductPrecision::kBfloat16) {
      REGARD_CHECK_EQ(alpha, 1) << "alpha of a product in bfloat16";
      rounded_gemm_flops += 2 * multiply_adds;
      if (a.cols == 0) return;
      const Bfloat16Backend& backend = Bfloat16BackendFor(c.rows);
      return ForColumns(c.cols, multiply_adds, kPairPanel,
                        [&](int64_t begin, int64_t end) {
                          RunBfloat16Product(backend, a, b, addend.data,
                                             addend.stride, c, begin, end);
                        });
    }
  }
  const Product<T> product(a, b, c, alpha);
  ForColumns(
      c.cols, multiply_adds, kGemmPanel<T>,
      [&](int64_t begin, int64_t end) { product.Run(addend, begin, end); });
}

}  // namespace

template <typename T>
void Gemm(ConstMatrix<T> a, ConstMatrix<T> b, MutableMatrix<T> c, GemmMode mode,
          T alpha, ProductPrecision precision) {
  const bool add = mode == GemmMode::kAdd;
  Multiply<T>(a, b, {add ? c.data : nullptr, c.stride}, c, alpha, precision);
}

template <typename T>
void GemmPlus(ConstMatrix<T> a, ConstMatrix<T> b, ConstMatrix<T> addend,
              MutableMatrix<T> c, ProductPrecision precision) {
  REGARD_CHECK_EQ(addend.rows, c.rows) << "rows of the addend";
  REGARD_CHECK_EQ(addend.cols, c.cols) << "columns of the addend";
  REGARD_CHECK(!addend.transposed) << "the addend must not be transposed";
  Multiply<T>(a, b, {addend.data, addend.stride}, c, T(1), precision);
}

template <typename T>
int64_t PackedSize(int64_t rows, int64_t cols) {
  return (cols + kGemmPanel<T> - 1) / kGemmPanel<T> * kGemmPanel<T> * rows;
}

template <typename T>
ConstMatrix<T> WithPackedPanels(ConstMatrix<T> b, T* panels) {
  for (int64_t col = 0; col < b.cols; col += kGemmPanel<T>) {
    PackPanel(b, /*first=*/0, b.rows, col, panels + col * b.rows);
  }
  b.panels = panels;
  return b;
}

template <typename T>
bool PanelsMatch(const ConstMatrix<T>& b) {
  for (int64_t col = 0; col < b.cols; ++col) {
    const int64_t within = col % kGemmPanel<T>;
    const T* const panel = b.panels + (col - within) * b.rows + within;
    for (int64_t row = 0; row < b.rows; ++row) {
      const T* const copy = panel + row * kGemmPanel<T>;
      if (std::memcmp(copy, At(b, row, col), sizeof(T)) != 0) return false;
    }
  }
  return true;
}

int64_t RoundedPairsSize(int64_t rows, int64_t cols) {
  return (cols + kPairPanel - 1) / kPairPanel * PairPanelSize(rows);
}

template <typename T>
ConstMatrix<T> RoundedPairs(ConstMatrix<T> b, uint32_t* pairs) {
  if constexpr (std::is_same_v<T, float>) {
    const Bfloat16Backend& backend = *Bfloat16Backends().back();
    for (int64_t col = 0; col < b.cols; col += kPairPanel) {
      backend.round_panel(b, /*first=*/0, b.rows, col,
                          pairs + col / kPairPanel * PairPanelSize(b.rows));
    }
  } else {
    REGARD_CHECK(false) << "pairs of a double matrix";
  }
  b.pairs = pairs;
  return b;
}

template <typename T>
bool PairsMatch(const ConstMatrix<T>& b) {
  if constexpr (std::is_same_v<T, float>) {
    const int64_t panel_size = PairPanelSize(b.rows);
    for (int64_t col = 0; col < b.cols; ++col) {
      const uint32_t* const pairs =
          b.pairs + col / kPairPanel * panel_size + col % kPairPanel;
      for (int64_t row = 0; row < b.rows; row += 2) {
        const float odd = row + 1 < b.rows ? *At(b, row + 1, col) : 0;
        if (pairs[row / 2 * kPairPanel] != RoundToPair(*At(b, row, col), odd)) {
          return false;
        }
      }
    }
  } else {
    REGARD_CHECK(false) << "pairs of a double matrix";
  }
  return true;
}

const char* Bfloat16Kernel() { return Bfloat16Backends().back()->name; }

int64_t GemmFlops() { return gemm_flops; }

int64_t RoundedGemmFlops() { return rounded_gemm_flops; }

REGARD_INSTANTIATE_FUNCTION(Gemm);
REGARD_INSTANTIATE_FUNCTION(GemmPlus);
REGARD_INSTANTIATE_FUNCTION(PackedSize);
REGARD_INSTANTIATE_FUNCTION(WithPackedPanels);
REGARD_INSTANTIATE_FUNCTION(PanelsMatch);
REGARD_INSTANTIATE_FUNCTION(RoundedPairs);
REGARD_INSTANTIATE_FUNCTION(PairsMatch);

}  // namespace regard
