// A tape: reverse-mode automatic differentiation of operations that run
// eagerly.
//
// A call of an operation computes its result immediately. If an output needs a
// gradient, the operation also appends one record. Backward() visits the
// records in reverse. An operation consists of forward code and a recorded
// closure:
//
//   template <typename T>
//   Var<T> Square(Var<T> x) {
//     Tape<T>& tape = x.tape();
//     Var<T> y = tape.New(x.shape(), x.needs_grad());
//     for (int64_t i = 0; i < x.size(); ++i) {
//       y.data()[i] = x.data()[i] * x.data()[i];
//     }
//     tape.Record("Square", y, [=] {
//       if (auto d = x.grad_ref()) {
//         d.AddEach([=](int64_t i) {
//           return T(2) * x.data()[i] * y.grad_data()[i];
//         });
//       }
//     });
//     return y;
//   }
//
// Operations find the tape through their operands. Only one thread at a time
// may use a tape. Different tapes are independent. A Var is valid until the
// tape is reset, is rewound to a position before the Var, or releases it in a
// backward pass. Debug builds check this.
#ifndef AUTODIFF_TAPE_H_
#define AUTODIFF_TAPE_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/instantiate.h"
#include "autodiff/node.h"
#include "autodiff/precision.h"
#include "autodiff/reclaimed_memory.h"
#include "autodiff/shape.h"
#include "autodiff/tape_observer.h"
#include "autodiff/var.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

struct RandomState {
  uint64_t seed = 0;
  int64_t step = 0;
  // The numbers of the examples along the leading axis. Empty means 0, 1, 2,
  // ... Not owned. Must stay valid and unchanged until the backward pass over
  // the computed values has ended: recomputations and fused dropout masks read
  // the numbers during that pass.
  absl::Span<const int64_t> examples;

  // Returns the number of the example at `index`. Unless `examples` is empty,
  // `index` must be less than its size.
  int64_t ExampleNumber(int64_t index) const {
    if (examples.empty()) return index;
    REGARD_CHECK_LT(index, static_cast<int64_t>(examples.size()))
        << "an example has no number";
    return examples[index];
  }
};

// The key of Tape::Table(). It consists of the arguments of the function that
// computes the table, and of the address of a constant that belongs to this
// function.
struct TableKey {
  const void* maker = nullptr;
  double number = 0;
  int64_t numbers[4] = {};

  bool operator==(const TableKey&) const = default;
};

template <typename T>
class Tape {
  struct Entry;

 public:
  // A position to rewind to. The default is the beginning of the tape.
  struct Mark {
    Arena::Mark arena;
    const Entry* last = nullptr;
    size_t records = 0;
    uint32_t nodes = 0;
  };

  Tape() = default;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Returns uninitialized storage for the output of an operation.
  Var<T> New(const Shape& shape, bool needs_grad) {
    const int64_t size = shape.size();
    Node<T>* const node = NewNode(arena_.template New<T>(size), nullptr, size,
                                  NoteNeedsGrad(needs_grad));
    return Var<T>(node, CopyShape(shape));
  }
  // Returns uninitialized storage with the shape of `x`.
  Var<T> NewLike(Var<T> x, bool needs_grad) {
    const int64_t size = x.size();
    Node<T>* const node = NewNode(arena_.template New<T>(size), nullptr, size,
                                  NoteNeedsGrad(needs_grad));
    return Var<T>(node, &x.shape());
  }

  // A value without a gradient. The overload without `values` is uninitialized.
  Var<T> Constant(const Shape& shape) { return New(shape, false); }
  Var<T> Constant(const Shape& shape, absl::Span<const T> values);
  Var<T> Full(const Shape& shape, T value);
  // A constant whose storage belongs to the caller and is not copied. Unlike a
  // leaf, it is discarded by Rewind(), and products with it keep no state.
  Var<T> View(T* values, const Shape& shape);

  // A value whose storage belongs to the caller, such as a parameter. `grad` is
  // null if the gradient is not needed. Create one leaf per parameter and step:
  // leaves whose gradients overlap fail a check. The first contribution of a
  // backward pass, if any, overwrites `grad`. Rewind() keeps a leaf that is
  // older than the mark, and the state that products store for this leaf.
  //
  // If `sparse`, few rows of the gradient [rows, cols] are written, as for an
  // embedding. `grad` must contain zeros. Rows that are not among
  // touched_rows() are neither read nor written.
  //
  // `packed` must outlive the leaf. Rounded products and many products of few
  // rows then read packed copies, which all tapes share. The owner must call
  // PackedWeights::Invalidate() before the values change.
  Var<T> Leaf(T* value, T* grad, const Shape& shape, bool sparse = false,
              PackedWeight<T>* packed = nullptr);

  // [rows], nonzero for each row of the leaf's gradient that was written. Empty
  // unless the gradient is sparse.
  absl::Span<const uint8_t> touched_rows(Var<T> leaf) const;

  // A leaf whose storage belongs to the tape, for tests and analyses.
  Var<T> Input(const Shape& shape, absl::Span<const T> values);

  // Records `backward` as the gradient of the operation that made `out`. Does
  // nothing if `out` needs no gradient. `backward` runs if a gradient reaches
  // `out`. It takes either no argument or the node of `out`. `name` must
  // outlive the tape. `backward` may read only memory of arena() that was
  // allocated before this call, because later memory is already released when
  // it runs.
  template <typename F>
  void Record(const char* name, Var<T> out, F backward) {
    const Var<T> outs[] = {out};
    RecordOutputs(name, outs, backward);
  }

  // Records the gradient of an operation with several outputs. `backward` runs
  // if a gradient reaches any output. grad_data() of the other outputs is null.
  template <size_t kOutputs, typename F>
  void RecordOutputs(const char* name, const Var<T> (&outs)[kOutputs],
                     F backward);

  // Runs `work` after all records of the current backward pass. Only backward
  // closures may call this. `work` takes no argument, is subject to the same
  // conditions as a closure, and must not read memory of arena(). It is stored
  // with the leaves.
  template <typename F>
  void Defer(const char* name, F work);

  // Computes the gradients of `scalar` times `seed` for all leaves. A no-op if
  // `scalar` needs no gradient. A second pass over a record fails a check,
  // because it would count the record's contributions twice. To differentiate
  // several scalars, add them first.
  void Backward(Var<T> scalar, T seed = T(1));

  // Runs the records after `mark` in reverse, starting from the gradients that
  // were assigned before.
  void BackwardTo(const Mark& mark);

  // Runs BackwardTo(mark), and releases everything that was created between
  // `mark` and `output`, except leaves. Gradients of this pass reuse the memory
  // of values that no record needs any more, unless an observer is set. The
  // value of `output` remains valid, but not its shape, which may belong to an
  // older value. No scope may be open, except in a nested pass.
  void BackwardToAndRelease(const Mark& mark, Var<T> output);

  // Whether a backward pass is running. Operations that run during the pass are
  // recomputations (ops/recompute.h).
  bool in_backward() const { return backward_depth_ > 0; }

  // While recording is off, outputs need no gradient and nothing is recorded.
  bool recording() const { return recording_; }
  void set_recording(bool recording) { recording_ = recording; }
  // Whether an output that needs a gradient was made since this flag was last
  // set to false. Also counts outputs that would need a gradient if recording
  // were on. Used by Recompute().
  bool wanted_grad() const { return wanted_grad_; }
  void set_wanted_grad(bool wanted) { wanted_grad_ = wanted; }

  Mark Save() const { return {arena_.Save(), last_, records_, nodes_}; }
  // Discards everything created since `mark`.
  void Rewind(const Mark& mark);
  // Discards everything. The memory is kept for the next step.
  void Reset();

#ifndef NDEBUG
  // Returns a number that no other node of this tape ever has. Returns 0 if the
  // node at `index` does not exist or was released by a backward pass.
  uint64_t NodeSerial(uint32_t index) const {
    return index < nodes_ ? serials_[index] : 0;
  }
#endif

  // Storage with the lifetime of the values, for example for spans in closures.
  Arena& arena() { return arena_; }
  // Storage of leaves and of the state that belongs to them. Rewind() keeps it,
  // and Reset() releases it.
  Arena& leaf_arena() { return leaf_arena_; }
  // Storage that is released at the end of the enclosing ScratchScope or
  // backward closure.
  Arena& scratch() { return scratch_; }

  // Returns constants that are computed once and shared by several operations,
  // such as the layers of a model. Unless the tape has a table with an equal
  // key, calls fill(numbers) to write `size` numbers. The tape finds only the
  // tables of the last kTables keys. The numbers remain valid until Reset().
  template <typename F>
  const T* Table(const TableKey& key, int64_t size, F fill) {
    for (const KeptTable& table : tables_) {
      if (table.key == key) return table.numbers;
    }
    T* const numbers = leaf_arena_.template New<T>(size);
    fill(numbers);
    tables_[next_table_++ % kTables] = {key, numbers};
    return numbers;
  }

  // Dropout is active only in training mode.
  bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }
  const RandomState& random() const { return random_; }
  void set_random(const RandomState& random) { random_ = random; }

  // Records that a mask identified by `key` is made in the current NameScope. A
  // second mask with an equal key fails a check, which names `site`, unless the
  // first was rewound. A no-op outside of scopes. Used by Dropout().
  void ClaimMask(const char* site, uint64_t key);

  // The precision of matrix products in the current scope. Operations keep it
  // for their backward pass. kFull if there is no rule.
  ProductPrecision precision() const {
    return precision_rule_ == nullptr ? ProductPrecision::kFull
                                      : precision_rule_->At(scope_);
  }
  // Null, the initial value, means no rule. Not owned. Reset() keeps the rule.
  void set_precision_rule(const PrecisionRule* rule) { precision_rule_ = rule; }
  const PrecisionRule* precision_rule() const { return precision_rule_; }

  const ScopeName* scope() const { return scope_; }
  void set_scope(const ScopeName* scope) { scope_ = scope; }

  // The observer, or null. Not owned.
  TapeObserver<T>* observer() const { return observer_; }
  void set_observer(TapeObserver<T>* observer) { observer_ = observer; }
  // Mark the beginning and the end of the operations that compute `scores`. In
  // these operations, -inf is legal. Calls must not nest.
  void NotifyBeginScores() {
    if (observer_ != nullptr) observer_->OnBeginScores();
  }
  void NotifyEndScores(Var<T> scores) {
    if (observer_ != nullptr) observer_->OnEndScores(scores);
  }

  size_t records() const { return records_; }
  size_t high_water_bytes() const {
    return arena_.high_water() + leaf_arena_.high_water() +
           scratch_.high_water();
  }

  // Returns a copy of `shape` with the lifetime of the values.
  const Shape* CopyShape(const Shape& shape) {
    return new (arena_.Allocate(sizeof(Shape), alignof(Shape))) Shape(shape);
  }

  // Allocates the gradient of `node`. Used by GradRef.
  void AllocateUninitializedGrad(Node<T>* node) {
    if (node->index < grad_floor_) RefuseGrad();
    node->grad = reclaiming_ != nullptr ? ReclaimGrad(*node) : nullptr;
    if (node->grad == nullptr) node->grad = arena_.template New<T>(node->size);
  }
  // Reports that a contribution to the gradient of `node` begins. For GradRef.
  void NotifyBeginContribution(Node<T>* node) {
    if (observer_ != nullptr) observer_->OnBeginContribution(*node);
  }

 private:
  // A record, allocated next to its output. With a closure of one Var, an entry
  // and an output of 8 floats fill two cache lines.
  struct Entry {
    // Returns false if no output was touched. Null after the backward pass.
    bool (*run)(Entry* self);
    Entry* previous;
    const char* name;
    const ScopeName* scope;
  };

  template <size_t kOutputs, typename F>
  struct EntryOf : Entry {
    Node<T>* outs[kOutputs];
    [[no_unique_address]] F backward;
  };

  template <typename F>
  struct DeferredEntry : Entry {
    [[no_unique_address]] F work;
  };

  // The range of a leaf's gradient in memory.
  struct LeafGrad {
    const T* begin;
    const T* end;
    const T* highest_end;  // the greatest `end` up to this leaf
    uint32_t node;
  };

  struct ClaimedMask {
    uint64_t key;
    const ScopeName* scope;
    uint32_t node;  // the index of the next node
  };

  struct KeptTable {
    TableKey key;
    const T* numbers = nullptr;
  };
  static constexpr size_t kTables = 8;

  template <size_t kOutputs, typename F>
  static bool Run(Entry* entry);
  // Runs one record. `scratch` marks the beginning of the pass's scratch
  // storage.
  void RunEntry(Entry* entry, const Arena::Mark& scratch);

  bool NoteNeedsGrad(bool needs_grad) {
    wanted_grad_ |= needs_grad;
    return needs_grad && recording_;
  }
  Node<T>* NewNode(T* value, T* grad, int64_t size, bool needs_grad) {
    void* const memory = arena_.Allocate(sizeof(Node<T>), alignof(Node<T>));
    return new (memory) Node<T>{value,      grad,  this,  size, TakeIndex(),
                                needs_grad, false, false, false};
  }
  Var<T> NewLeaf(T* value, T* grad, const Shape& shape, bool sparse,
                 PackedWeight<T>* packed);
  void AddDisjointLeafGrad(const T* grad, const Shape& shape);
  uint32_t TakeIndex([[maybe_unused]] bool leaf = false) {
#ifndef NDEBUG
    serials_.resize(nodes_);
    last_serial_ += 2;
    serials_.push_back(last_serial_ + (leaf ? 1 : 0));
#endif
    return nodes_++;
  }

  [[noreturn]] static void RefuseGrad();
  void RunRecords(const Mark& mark, ReclaimedMemory* memory);
  // Returns null if the gradient must be allocated from the arena.
  T* ReclaimGrad(const Node<T>& node);

  Arena arena_;
  Arena leaf_arena_;
  Arena scratch_;
  // The freed memory of arena_, for each depth of nested passes.
  ReclaimedMemory reclaimed_[3];
  ReclaimedMemory* reclaiming_ = nullptr;  // null if the pass releases nothing
  Entry* last_ = nullptr;                  // the latest record
  Entry* deferred_ = nullptr;              // the latest call of Defer()
  int backward_depth_ = 0;                 // passes that have not returned
  size_t records_ = 0;
  uint32_t nodes_ = 0;
  // The gradients of nodes below this index must not be allocated now, because
  // their memory would be rewound while in use. Set during a recomputation.
  uint32_t grad_floor_ = 0;
  // Sorted by node. Rewind() removes the leaves that it discards.
  std::vector<LeafGrad> leaf_grads_;
  std::vector<ClaimedMask> claimed_masks_;
  KeptTable tables_[kTables];
  size_t next_table_ = 0;
  bool recording_ = true;
  bool wanted_grad_ = false;
  bool training_ = false;
  RandomState random_;
  const PrecisionRule* precision_rule_ = nullptr;
  const ScopeName* scope_ = nullptr;
  TapeObserver<T>* observer_ = nullptr;
#ifndef NDEBUG
  std::vector<uint64_t> serials_;  // indexed by node; odd for leaves
  uint64_t last_serial_ = 0;
#endif
};

// Prefixes the names of the operations that are recorded during its lifetime,
// as in `NameScope<T> scope(tape, "decoder");`. Scopes nest. `name` must
// outlive the tape. `index` distinguishes the members of a series, such as time
// steps.
template <typename T>
class NameScope {
 public:
  NameScope(Tape<T>& tape, const char* name, int64_t index = -1);
  ~NameScope() { tape_.set_scope(outer_); }

  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  Tape<T>& tape_;
  const ScopeName* outer_;
};

// Releases scratch storage at the end of its lifetime.
template <typename T>
class ScratchScope {
 public:
  explicit ScratchScope(Tape<T>& tape)
      : arena_(tape.scratch()), mark_(arena_.Save()) {}
  ~ScratchScope() { arena_.Rewind(mark_); }

  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

  T* New(int64_t count) { return arena_.template New<T>(count); }

 private:
  Arena& arena_;
  Arena::Mark mark_;
};

template <typename T>
template <size_t kOutputs, typename F>
bool Tape<T>::Run(Entry* entry) {
  auto* self = static_cast<EntryOf<kOutputs, F>*>(entry);
  bool touched = false;
  for (const Node<T>* out : self->outs) touched |= out->touched;
  if (!touched) return false;
  if constexpr (std::is_invocable_v<F, Node<T>*>) {
    self->backward(self->outs[0]);
  } else {
    self->backward();
  }
  return true;
}

template <typename T>
template <size_t kOutputs, typename F>
void Tape<T>::RecordOutputs(const char* name, const Var<T> (&outs)[kOutputs],
                            F backward) {
  static_assert(
      std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F>,
      "a backward closure is never destroyed: capture Vars, spans of "
      "the arena and numbers");
  if (observer_ != nullptr) observer_->OnForwardDone(name, scope_, outs);
  bool needs_grad = false;
  for (const Var<T>& out : outs) needs_grad |= out.needs_grad();
  if (!needs_grad) return;
  using Record = EntryOf<kOutputs, F>;
  auto* record = new (arena_.Allocate(sizeof(Record), alignof(Record)))
      Record{{&Run<kOutputs, F>, last_, name, scope_}, {}, backward};
  for (size_t i = 0; i < kOutputs; ++i) record->outs[i] = outs[i].node();
  last_ = record;
  ++records_;
}

template <typename T>
template <typename F>
void Tape<T>::Defer(const char* name, F work) {
  static_assert(std::is_trivially_copyable_v<F> &&
                std::is_trivially_destructible_v<F>);
  using Deferred = DeferredEntry<F>;
  void* const memory =
      leaf_arena_.Allocate(sizeof(Deferred), alignof(Deferred));
  const auto run = [](Entry* entry) {
    static_cast<Deferred*>(entry)->work();
    return true;
  };
  // Omits the scope if its name would be lost before `work` runs: a nested pass
  // rewinds the names of its scopes, and a pass that releases values overwrites
  // them.
  const ScopeName* const scope =
      backward_depth_ > 1 || reclaiming_ != nullptr ? nullptr : scope_;
  deferred_ = new (memory) Deferred{{run, deferred_, name, scope}, work};
}

extern template class Tape<float>;
extern template class Tape<double>;
extern template class NameScope<float>;
extern template class NameScope<double>;

}  // namespace regard

#endif  // AUTODIFF_TAPE_H_
