#include "attention/kernels/scaled_dot_attention.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include "attention/kernels/attention_blocks.h"
#include "attention/kernels/block_statistics.h"
#include "attention/kernels/finite_values.h"
#include "attention/kernels/running_softmax.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/worker_pool.h"

namespace regard {

namespace {

// Storage for the rows of a part of a block. Empty without a selection.
template <typename T>
struct PartScratch {
  PartScratch(const AttentionProblem<T>& p, ScratchScope<T>& scratch) {
    const int64_t n = p.selected.has_value() ? kQueryBlock : 0;
    rows = p.queries.tape().scratch().template New<int32_t>(n);
    queries = scratch.New(n * p.of_queries.width);
    context = scratch.New(n * p.of_values.width);
    sums = {scratch.New(n), scratch.New(n)};
  }

  ConstMatrix<T> Queries(const AttentionProblem<T>& p,
                         const QueryBlock& part) const {
    return {queries, part.count, p.of_queries.width};
  }
  // The rows of the context, or of its gradient.
  template <typename Matrix>
  Matrix Context(const AttentionProblem<T>& p, const QueryBlock& part) const {
    return {context, part.count, p.of_values.width};
  }
  void GatherSums(const QueryBlock& part, RunningSoftmax<T> block) const {
    for (int64_t i = 0; i < part.count; ++i) {
      sums.max[i] = block.max[part.rows[i]];
      sums.sum[i] = block.sum[part.rows[i]];
    }
  }
  void ScatterSums(const QueryBlock& part, RunningSoftmax<T> block) const {
    for (int64_t i = 0; i < part.count; ++i) {
      block.max[part.rows[i]] = sums.max[i];
      block.sum[part.rows[i]] = sums.sum[i];
    }
  }

  int32_t* rows;
  T* queries;
  T* context;
  RunningSoftmax<T> sums;
};

template <typename T>
struct AttendScratch {
  AttendScratch(const AttentionProblem<T>& p, const AttentionStatistics& wanted,
                ScratchScope<T>& scratch)
      : scores(scratch.New(p.block_size())),
        weights(wanted.has_value() ? scratch.New(p.block_size()) : scores),
        decay(scratch.New(kQueryBlock)),
        sums(scratch.New(kQueryBlock)),
        keep(p.AllocateDropoutMask()),
        keys(p, p.keys, p.of_keys, scratch),
        values(p, p.values, p.of_values, scratch),
        part(p, scratch),
        statistics(wanted, p.queries.tape().scratch()) {}

  T* const scores;
  T* const weights;  // same array as scores, unless statistics need both
  T* const decay;
  T* const sums;
  uint8_t* const keep;
  const KeyOrValueRows<T> keys;
  KeyOrValueRows<T> values;
  const PartScratch<T> part;
  BlockStatistics<T> statistics;
};

// Adds `count` keys, starting with `first_key`, to the context of the block's
// queries. If `first` is true, overwrites the context.
template <typename T>
void AttendKeys(const AttentionProblem<T>& p, const QueryBlock& block,
                const ConstMatrix<T>& queries, bool first, int64_t first_key,
                int64_t count, RunningSoftmax<T> rows, AttendScratch<T>& s,
                const MutableMatrix<T>& context) {
  ScoreBlock(p, block, queries, s.keys(block, first_key, count), first_key,
             s.scores);
  AccumulateSoftmax(block, first, p.sink.has_value(), count, s.scores,
                    s.weights, rows, s.decay, s.sums,
                    s.statistics.wanted() ? &s.statistics : nullptr, context);
  if (s.statistics.wanted()) {
    s.statistics.Add(p, block, first_key, count,
                     {s.scores, s.weights, s.sums, rows.max, s.decay});
  }
  if (p.dropout.drops()) {
    FillDropoutMask(p, block, first_key, count, s.keep);
    ApplyDropout(p, s.keep, block.count * count, s.weights, s.weights);
  }
  const ConstMatrix<T> raw = s.values(block, first_key, count);
  const ConstMatrix<T> finite =
      s.values.FiniteRowsIfMasked(block, first_key, count);
  Gemm(ConstMatrix<T>(s.weights, block.count, count), finite, context,
       first ? GemmMode::kAssign : GemmMode::kAdd, T(1), p.precision);
  if (finite.data == raw.data) return;
  for (int64_t i = 0; i < block.count; ++i) {
    AddNonFinite(s.weights + i * count, raw, context.data + i * context.stride);
  }
}

template <typename T>
void AttendBlock(const AttentionProblem<T>& p, const QueryBlock& block,
                 RunningSoftmax<T> rows, AttendScratch<T>& s,
                 const MutableMatrix<T>& context) {
  const bool sink = p.sink.has_value();
  const bool selects = p.selected.has_value();
  const bool empty = block.end_key <= block.first_block();
  std::fill_n(rows.max, block.count,
              sink ? p.sink.data()[block.head] : kMinusInfinity<T>);
  if (empty || selects) {
    std::fill_n(rows.sum, block.count, T(sink && !empty ? 1 : 0));
    for (int64_t i = 0; i < block.count; ++i) {
      std::fill_n(context.data + i * context.stride, context.cols, T(0));
    }
  }
  if (empty) return;
  const bool counts = s.statistics.wanted();
  if (counts) s.statistics.Begin(block);
  ForEachPart(p, block, s.part.rows,
              [&](const QueryBlock& part, int64_t k, int64_t count) {
                const bool first = !selects && k == block.first_block();
                if (part.rows == nullptr) {
                  AttendKeys(p, part, Queries(p, block), first, k, count, rows,
                             s, context);
                  return;
                }
                GatherRows(part, Queries(p, block), s.part.queries);
                GatherRows(part, context, s.part.context);
                s.part.GatherSums(part, rows);
                AttendKeys(p, part, s.part.Queries(p, part), first, k, count,
                           s.part.sums, s,
                           s.part.template Context<MutableMatrix<T>>(p, part));
                ScatterRows(part, s.part.context, context);
                s.part.ScatterSums(part, rows);
              });
  if (counts) s.statistics.End(p, block, rows.max, rows.sum);
  for (int64_t i = 0; i < block.count; ++i) {
    ScaleRow(context, i, rows.sum[i] > T(0) ? T(1) / rows.sum[i] : T(0));
  }
}

// Computes the contexts of the pairs (example, head) begin .. end - 1.
template <typename T>
void AttendSources(const AttentionProblem<T>& p, RunningSoftmax<T> sums,
                   Var<T> context, int64_t begin, int64_t end,
                   AttendScratch<T>& s) {
  ForEachQueryBlock(p, begin, end, [&](const QueryBlock& block) {
    AttendBlock(p, block, sums.From(block.row), s,
                Contexts(p, block, context.data()));
  });
}

// Computes the contexts of all heads of all examples. If there is enough work,
// the threads of InferenceThreads share the heads.
template <typename T>
void AttendAll(const AttentionProblem<T>& p, const AttentionStatistics& rows,
               RunningSoftmax<T> sums, Var<T> context) {
  constexpr int64_t kMinToCut = int64_t{1} << 19;  // multiply-adds
  ScratchScope<T> scratch(p.queries.tape());
  const int64_t multiply_adds = p.sources() * p.num_queries() * p.num_keys() *
                                (p.of_keys.width + p.of_values.width);
  WorkerPool* const pool =
      multiply_adds < kMinToCut ? nullptr : InferenceThreads::Pool();
  const int64_t parts =
      pool == nullptr ? 1 : std::min<int64_t>(pool->threads(), p.sources());
  if (parts <= 1) {
    AttendScratch<T> alone(p, rows, scratch);
    return AttendSources(p, sums, context, 0, p.sources(), alone);
  }
  auto* const of_part =
      p.queries.tape().scratch().template New<AttendScratch<T>>(parts);
  for (int64_t part = 0; part < parts; ++part) {
    new (of_part + part) AttendScratch<T>(p, rows, scratch);
  }
  const InferenceThreads none = InferenceThreads::None();
  pool->Run(parts, [&](int64_t part) {
    AttendSources(p, sums, context, p.sources() * part / parts,
                  p.sources() * (part + 1) / parts, of_part[part]);
  });
}

template <typename T>
struct BackwardScratch {
  T* weights;     // [queries, keys] of the block
  T* d_weights;   // [queries, keys] of the block
  T* mean;        // [queries], sum of weights * d_weights over all keys
  uint8_t* keep;  // [queries, keys] of the block
  PartScratch<T> part;
  T* d_queries;  // [queries, width] of a part
  T* part_mean;  // [queries] of a part
};

template <typename T>
void AddToSink(const AttentionProblem<T>& p, const QueryBlock& block, int64_t i,
               RunningSoftmax<T> rows, T mean, T* d_sink) {
  T weight = p.sink.data()[block.head] - rows.max[i];
  Exp(&weight, &weight, 1);
  d_sink[block.head] -= weight / rows.sum[i] * mean;
}

// Adds the gradients for `count` keys, starting with `first_key`. `one_block`
// is true if the queries read no other keys.
template <typename T>
void BackwardKeys(const AttentionProblem<T>& p, const QueryBlock& block,
                  const ConstMatrix<T>& queries, bool one_block,
                  int64_t first_key, int64_t count, RunningSoftmax<T> rows,
                  const T* means, const ConstMatrix<T>& d_context,
                  KeyOrValueRows<T>& keys, KeyOrValueRows<T>& values,
                  const BackwardScratch<T>& s, const Gradients<T>& d,
                  const MutableMatrix<T>& d_queries) {
  ScoreBlock(p, block, queries, keys(block, first_key, count), first_key,
             s.weights);
  NormalizeScores(block, count, rows, s.weights);
  const bool drops = p.dropout.drops();
  if (drops) FillDropoutMask(p, block, first_key, count, s.keep);
  if (d.values != nullptr) {
    const T* dropped = s.weights;
    if (drops) {
      ApplyDropout(p, s.keep, block.count * count, s.weights, s.d_weights);
      dropped = s.d_weights;
    }
    Gemm(ConstMatrix<T>(dropped, block.count, count).Transposed(), d_context,
         values.At(d.values, block, first_key, count), GemmMode::kAdd, T(1),
         p.precision);
  }
  if (!d.NeedsScoreGradients()) return;
  Gemm(d_context,
       values.FiniteRowsIfMasked(block, first_key, count).Transposed(),
       MutableMatrix<T>(s.d_weights, block.count, count), GemmMode::kAssign,
       T(1), p.precision);
  if (drops) {
    ApplyDropout(p, s.keep, block.count * count, s.d_weights, s.d_weights);
  }
  for (int64_t i = 0; i < block.count; ++i) {
    const T* __restrict weight = s.weights + i * count;
    T* __restrict d_score = s.d_weights + i * count;
    const T mean = one_block ? DotRow(weight, d_score, count) : means[i];
    if (one_block && d.sink != nullptr) {
      AddToSink(p, block, i, rows, mean, d.sink);
    }
    for (int64_t j = 0; j < count; ++j) {
      d_score[j] = weight[j] * (d_score[j] - mean);
    }
  }
  const ConstMatrix<T> d_scores(s.d_weights, block.count, count);
  AddBiasGradients(p, block, d_scores, first_key, d);
  T scale = p.scale;
  if (Rounds<T>(p.precision)) {
    Scale(p.scale, block.count * count, s.d_weights);
    scale = T(1);
  }
  if (d.queries != nullptr) {
    Gemm(d_scores, keys.FiniteRowsIfMasked(block, first_key, count), d_queries,
         GemmMode::kAdd, scale, p.precision);
  }
  if (d.keys != nullptr) {
    Gemm(d_scores.Transposed(), queries,
         keys.At(d.keys, block, first_key, count), GemmMode::kAdd, scale,
         p.precision);
  }
}

template <typename T>
void BackwardBlock(const AttentionProblem<T>& p, const QueryBlock& block,
                   RunningSoftmax<T> rows, const ConstMatrix<T>& context,
                   const ConstMatrix<T>& d_context, KeyOrValueRows<T>& keys,
                   KeyOrValueRows<T>& values, const BackwardScratch<T>& s,
                   const Gradients<T>& d) {
  // If all keys of a row are in one block, the mean is computed from the
  // weights. A row that sees one key then has a gradient of exactly 0.
  const bool one_block = block.end_key - block.first_block() <= kKeyBlock;
  for (int64_t i = 0; !one_block && i < block.count; ++i) {
    s.mean[i] = DotRow(context.data + i * context.stride,
                       d_context.data + i * d_context.stride, context.cols);
    if (d.sink != nullptr) AddToSink(p, block, i, rows, s.mean[i], d.sink);
  }
  const MutableMatrix<T> d_queries =
      d.queries == nullptr
          ? MutableMatrix<T>(nullptr, 0, 0)
          : p.of_queries.At(d.queries, block.example, block.head, block.begin,
                            block.count);
  ForEachPart(p, block, s.part.rows,
              [&](const QueryBlock& part, int64_t k, int64_t count) {
                if (part.rows == nullptr) {
                  BackwardKeys(p, part, Queries(p, block), one_block, k, count,
                               rows, s.mean, d_context, keys, values, s, d,
                               d_queries);
                  return;
                }
                GatherRows(part, Queries(p, block), s.part.queries);
                GatherRows(part, d_context, s.part.context);
                s.part.GatherSums(part, rows);
                for (int64_t i = 0; i < part.count; ++i) {
                  s.part_mean[i] = s.mean[part.rows[i]];
                }
                const MutableMatrix<T> d_part(s.d_queries, part.count,
                                              p.of_queries.width);
                if (d.queries != nullptr) {
                  GatherRows(part, d_queries, s.d_queries);
                }
                BackwardKeys(p, part, s.part.Queries(p, part), one_block, k,
                             count, s.part.sums, s.part_mean,
                             s.part.template Context<ConstMatrix<T>>(p, part),
                             keys, values, s, d, d_part);
                if (d.queries != nullptr) {
                  ScatterRows(part, s.d_queries, d_queries);
                }
              });
}

}  // namespace

template <typename T>
Var<T> ScaledDotAttention(const std::type_identity_t<InnerForm<T>>& score,
                          Var<T> values, const Mask& mask,
                          const Positions& positions,
                          std::type_identity_t<T> dropout,
                          int64_t heads_side_by_side, Var<T> sink,
                          const AttentionStatistics& statistics) {
  const InnerForm<T> form = FoldBiasesIntoOperands(score);
  const Shape& q = form.a.shape();
  const Shape& k = form.b.shape();
  const Shape& v = values.shape();
  const int64_t heads = heads_side_by_side;
  const int rank = heads > 0 ? 3 : 4;
  REGARD_CHECK(q.rank() == rank && k.rank() == rank && v.rank() == rank &&
               q[0] == k[0] && q[0] == v[0])
      << "queries " << q << ", keys " << k << ", values " << v;
  const RowLayout of_queries = RowLayout::Of(q, heads);
  // With heads side by side, the keys' width divided by the query's width is
  // the number of key heads.
  const int64_t key_heads =
      heads > 0 ? k[2] / std::max<int64_t>(of_queries.width, 1) : 0;
  const RowLayout of_keys = RowLayout::Of(k, key_heads);
  const RowLayout of_values = RowLayout::Of(v, key_heads);
  const auto divides_heads = [&](int64_t n) {
    return n > 0 && of_queries.heads % n == 0;
  };
  REGARD_CHECK(divides_heads(of_keys.heads) && divides_heads(of_values.heads) &&
               of_keys.width == of_queries.width &&
               of_keys.rows == of_values.rows &&
               (heads == 0 || (q[2] % heads == 0 && v[2] % key_heads == 0)))
      << "queries " << q << ", keys " << k << ", values " << v << ", " << heads
      << " heads side by side";
  REGARD_CHECK(!sink.has_value() || sink.shape() == Shape({of_queries.heads}))
      << of_queries.heads << " heads, sink " << sink.shape();
  Tape<T>* const tape = &TapeOf("ScaledDotAttention", form.a, form.b, values);
  const int64_t num_queries = of_queries.rows;
  const Shape scores = {q[0], of_queries.heads, num_queries, of_keys.rows};
  form.distance_bias.CheckCovers(*tape, positions, scores);
  form.difference_bias.CheckCovers(*tape, scores);
  const RowLayout of_context = {of_queries.heads, num_queries, of_values.width,
                                heads > 0};
  const AttentionProblem<T> p = {
      form.a,
      form.b,
      values,
      of_queries,
      of_keys,
      of_values,
      of_context,
      MaskReader(mask, positions, q[0], num_queries, of_keys.rows),
      form.factor,
      tape->precision(),
      positions,
      form.distance_bias,
      form.difference_bias,
      DropoutMask(*tape, dropout, "weights"),
      sink,
      mask.selected};
  const Var<T> context = tape->New(
      q.With(-1, heads > 0 ? heads * of_values.width : of_values.width),
      form.a.needs_grad() || form.b.needs_grad() || values.needs_grad() ||
          form.distance_bias.needs_grad() ||
          form.difference_bias.needs_grad() ||
          (sink.has_value() && sink.needs_grad()));
  const int64_t rows = q[0] * of_queries.heads * num_queries;
  const RunningSoftmax<T> sums = {tape->arena().template New<T>(rows),
                                  tape->arena().template New<T>(rows)};
  REGARD_CHECK(!statistics.has_value() || statistics.size() == rows)
      << "statistics of " << statistics.size() << " rows, of which there are "
      << rows;
  AttendAll(p, statistics, sums, context);
  tape->Record("ScaledDotAttention", context, [=] {
    const Gradients<T> gradients = {GradToAddTo(p.queries),
                                    GradToAddTo(p.keys),
                                    GradToAddTo(p.values),
                                    GradToAddTo(p.bias.values),
                                    GradToAddTo(p.difference.queries),
                                    GradToAddTo(p.difference.keys),
                                    GradToAddTo(p.sink)};
    ScratchScope<T> scratch(*tape);
    const int64_t rows_of_part = p.selected.has_value() ? kQueryBlock : 0;
    const BackwardScratch<T> blocks = {
        scratch.New(p.block_size()),
        scratch.New(p.block_size()),
        scratch.New(kQueryBlock),
        p.AllocateDropoutMask(),
        PartScratch<T>(p, scratch),
        scratch.New(rows_of_part * p.of_queries.width),
        scratch.New(rows_of_part)};
    KeyOrValueRows<T> key_rows(p, p.keys, p.of_keys, scratch);
    KeyOrValueRows<T> value_rows(p, p.values, p.of_values, scratch);
    const T* const value = context.data();
    ForEachQueryBlock(p, 0, p.sources(), [&](const QueryBlock& block) {
      BackwardBlock(p, block, sums.From(block.row), Contexts(p, block, value),
                    Contexts(p, block, context.grad_data()), key_rows,
                    value_rows, blocks, gradients);
    });
  });
  return context;
}

REGARD_INSTANTIATE_FUNCTION(ScaledDotAttention);

}  // namespace regard
