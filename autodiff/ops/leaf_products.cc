#include "autodiff/ops/leaf_products.h"

#include <algorithm>
#include <new>

#include "autodiff/arena.h"

namespace regard {

// In the leaf's arena. A part is identified by its place in the storage of the
// leaf, so all shapes of the leaf share it.
template <typename T>
struct LeafPart {
  int64_t offset;
  int64_t rows;
  int64_t cols;
  int64_t stride;
  LeafPart* next;

  // Layout.
  int64_t products = 0;       // of few rows, so far
  const T* panels = nullptr;  // null: not laid out

  // Queue of gradient products.
  T* g = nullptr;  // [kGemmDepth, rows]
  T* x = nullptr;  // [kGemmDepth, cols]
  int64_t queued = 0;
  bool deferred = false;  // whether the rest of this pass is taken care of
};

namespace {

// Products of more rows are not worth a layout that is kept: packing takes a
// small share of their time, and with recomputation each weight is used twice.
constexpr int64_t kMostRowsForLayout = 512;

// Elements of a part that exceeds a core's own cache. Products of inference
// with very few rows wait for memory then. Packing takes as long as dozens of
// them save, and the copy takes space: it is made once as many were computed.
constexpr int64_t kLeastToStream = int64_t{1} << 18;
constexpr int64_t kReadsInPlace = 64;

template <typename T>
LeafPart<T>* FindOrAdd(LeafNode<T>* leaf, const WeightPart<T>& part) {
  const int64_t offset = part.offset();
  const int64_t stride = part.stride();
  for (LeafPart<T>* known = leaf->parts; known != nullptr;
       known = known->next) {
    if (known->offset == offset && known->rows == part.rows &&
        known->cols == part.cols && known->stride == stride) {
      return known;
    }
  }
  void* const memory = leaf->tape->ArenaOf(*leaf).Allocate(sizeof(LeafPart<T>));
  leaf->parts = new (memory)
      LeafPart<T>{offset, part.rows, part.cols, stride, leaf->parts};
  return leaf->parts;
}

// gradient += g^T x, in the part of `node` of x.cols columns at `offset`.
template <typename T>
void AddProduct(Node<T>* node, int64_t offset, int64_t stride,
                const ConstMatrix<T>& g, const ConstMatrix<T>& x) {
  GradRef<T> d(node);
  GemmMode mode = GemmMode::kAdd;
  if (g.cols * x.cols != node->size) {
    d.BeginPartial();
  } else if (!d.MarkTouched()) {
    mode = GemmMode::kAssign;
  }
  Gemm<T>(g.Transposed(), x, {d.data() + offset, g.cols, x.cols, stride}, mode);
}

template <typename T>
void Flush(LeafNode<T>* leaf, LeafPart<T>* part) {
  AddProduct<T>(leaf, part->offset, part->stride,
                {part->g, part->queued, part->rows},
                {part->x, part->queued, part->cols});
  part->queued = 0;
}

template <typename T>
void Enqueue(LeafNode<T>* leaf, LeafPart<T>* part, const ConstMatrix<T>& g,
             const ConstMatrix<T>& x) {
  Tape<T>& tape = *leaf->tape;
  if (part->g == nullptr) {
    part->g = tape.leaf_arena().template New<T>(kGemmDepth * part->rows);
    part->x = tape.leaf_arena().template New<T>(kGemmDepth * part->cols);
  }
  if (!part->deferred) {
    part->deferred = true;
    tape.Defer("WeightGradient", [=] {
      part->deferred = false;
      // Without any row the gradient is zero, but it was reached.
      if (part->queued > 0 || !leaf->touched) Flush(leaf, part);
    });
  }
  for (int64_t i = 0; i < g.rows; ++i) {
    std::copy_n(g.data + i * g.stride, part->rows,
                part->g + part->queued * part->rows);
    std::copy_n(x.data + i * x.stride, part->cols,
                part->x + part->queued * part->cols);
    if (++part->queued == kGemmDepth) Flush(leaf, part);
  }
}

}  // namespace

template <typename T>
ConstMatrix<T> TransposedForProducts(const WeightPart<T>& part,
                                     int64_t rows_of_x, int64_t products) {
  const ConstMatrix<T> transposed = part.matrix().Transposed();
  Node<T>* const node = part.weight.node();
  const int64_t size = PackedSize<T>(part.cols, part.rows);
  if (!node->is_leaf) {
    if (products < 2) return transposed;
    return Packed(transposed, node->tape->scratch().template New<T>(size));
  }
  auto* const leaf = static_cast<LeafNode<T>*>(node);
  LeafPart<T>* const kept = FindOrAdd(leaf, part);
  if (kept->panels == nullptr) {
    if (rows_of_x > kMostRowsForLayout) return transposed;
    const bool streams = rows_of_x <= kGemmFewRows && !node->needs_grad &&
                         part.rows * part.cols >= kLeastToStream;
    kept->products += products;
    if (kept->products < (streams ? kReadsInPlace : 2)) return transposed;
    T* const panels = node->tape->ArenaOf(*leaf).template NewDense<T>(size);
    kept->panels = panels;
    return Packed(transposed, panels);
  }
  ConstMatrix<T> packed = transposed;
  packed.panels = kept->panels;
  return packed;
}

template <typename T>
void AddWeightGradient(const WeightPart<T>& part, const ConstMatrix<T>& g,
                       const ConstMatrix<T>& x) {
  Node<T>* const node = part.weight.node();
  if (!node->needs_grad) return;
  if (node->is_leaf && g.rows < kGemmDepth) {
    auto* const leaf = static_cast<LeafNode<T>*>(node);
    Enqueue(leaf, FindOrAdd(leaf, part), g, x);
  } else {
    AddProduct(node, part.offset(), part.stride(), g, x);
  }
}

REGARD_INSTANTIATE_FUNCTION(TransposedForProducts);
REGARD_INSTANTIATE_FUNCTION(AddWeightGradient);

}  // namespace regard
