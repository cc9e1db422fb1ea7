#include "tools/peers/gpt2_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/transformer_decoder.h"
#include "tools/peers/step_data.h"

namespace regard {

namespace {

TransformerConfig Gpt2Of(const WorkOptions& options) {
  TransformerConfig config = TransformerOf(options);
  config.mutable_attention()->set_bias(true);
  config.mutable_feed_forward()->set_activation(FeedForwardConfig::GELU_TANH);
  PositionEmbeddingConfig& positions = *config.mutable_position_embedding();
  positions.set_kind(PositionEmbeddingConfig::LEARNED);
  positions.set_longest(1024);
  config.set_scale_embedding(false);
  config.set_tied_embeddings(TransformerConfig::TARGET_OUTPUT);
  // With the initial values of GPT-2, the residual stays close to the embedding
  // of the last id. The most probable id would therefore always equal the last
  // id.
  config.mutable_initialization()->set_embedding_deviation(0.02);
  return config;
}

// Maximum number of ids that are read at once. It is large enough for fast
// matrix products, and small enough to need little memory.
constexpr int64_t kMaxAtOnce = 256;

class Gpt2Work : public TimedWork {
 public:
  explicit Gpt2Work(const WorkOptions& options)
      : time_(options.source_time),
        length_(options.target_time),
        part_(std::max<int64_t>(1, kMaxAtOnce / options.batch)),
        vocabulary_(options.target_vocabulary),
        prompts_(TextData(options.batch * options.source_time, vocabulary_)),
        rows_(static_cast<size_t>(options.batch)),
        decoder_(Gpt2Of(options), BuiltInScorers(), {.vocabulary = vocabulary_},
                 parameters_.Root()),
        pool_(options.threads) {
    std::iota(rows_.begin(), rows_.end(), 0);
    // With this seed, no two ids are almost equally probable.
    parameters_.Finalize(/*seed=*/2);
    forward_.emplace(tape_, parameters_, /*gradients=*/nullptr);
    tape_.set_recording(false);
  }

  ParameterStore<float>& parameters() override { return parameters_; }

  void Step() override {
    const InferenceThreads threads(pool_);
    ids_.clear();
    forward_->BeginStep();
    const ScratchScope<float> scratch(tape_);
    const auto rows = static_cast<int64_t>(rows_.size());
    const Tape<float>::Mark begin = tape_.Save();
    DecoderStateStore<float> cache(decoder_.Begin(*forward_, {.sources = rows}),
                                   {.rows = rows,
                                    .vocabulary = vocabulary_,
                                    .positions = decoder_.longest_position()},
                                   tape_.scratch());
    tape_.Rewind(begin);
    for (int64_t read = 0; read < time_; read += part_) {
      const int64_t count = std::min(part_, time_ - read);
      Advance(cache, PromptsAt(read, count), /*ends=*/read + count == time_);
    }
    for (int64_t step = 1; step < length_; ++step) {
      Advance(cache, absl::MakeConstSpan(ids_).last(rows_.size()),
              /*ends=*/true);
    }
  }

  std::vector<double> NumbersToCompare() override {
    Step();
    return {ids_.begin(), ids_.end()};
  }

 private:
  // Returns the ids [first, first + count) of each prompt.
  absl::Span<const int32_t> PromptsAt(int64_t first, int64_t count) {
    read_.clear();
    for (size_t row = 0; row < rows_.size(); ++row) {
      const auto begin =
          prompts_.begin() + static_cast<int64_t>(row) * time_ + first;
      read_.insert(read_.end(), begin, begin + count);
    }
    return read_;
  }

  // Reads ids [rows, n]. If `ends`, the ids are the end of the prompts, and the
  // most probable id is appended to each row.
  void Advance(DecoderStateStore<float>& cache, absl::Span<const int32_t> ids,
               bool ends) {
    const Tape<float>::Mark mark = tape_.Save();
    DecoderState<float> state = cache.View(tape_);
    const Var<float> readout = decoder_.Advance(*forward_, ids, {}, &state);
    if (ends) AppendLikeliest(readout);
    cache.Gather(state, rows_, /*rows_per_source=*/1);
    tape_.Rewind(mark);
  }

  // Appends the most probable id after the last of n positions. `readout` is
  // [rows, n, width].
  void AppendLikeliest(Var<float> readout) {
    const int64_t last = readout.dim(1) - 1;
    if (last > 0) readout = Slice(readout, /*axis=*/1, last, 1);
    const Var<float> logits = decoder_.head().Logits(
        *forward_, readout.Reshape({readout.dim(0), readout.cols()}));
    for (int64_t row = 0; row < logits.rows(); ++row) {
      const float* const of_row = logits.data() + row * vocabulary_;
      const float* const end = of_row + vocabulary_;
      const float most = MaxRow(of_row, vocabulary_);
      ids_.push_back(
          static_cast<int32_t>(std::find(of_row, end, most) - of_row));
    }
  }

  const int64_t time_;
  const int64_t length_;
  const int64_t part_;  // number of ids of a prompt that are read at once
  const int64_t vocabulary_;
  const std::vector<int32_t> prompts_;  // [rows, source_time]
  std::vector<int32_t> rows_;           // 0, 1, ..
  std::vector<int32_t> read_;
  ParameterStore<float> parameters_;
  const TransformerDecoder<float> decoder_;
  WorkerPool pool_;
  Tape<float> tape_;
  std::optional<Forward<float>> forward_;
  std::vector<int32_t> ids_;  // [target_time, rows]
};

}  // namespace

std::unique_ptr<TimedWork> MakeGpt2Work(const WorkOptions& options) {
  return std::make_unique<Gpt2Work>(options);
}

}  // namespace regard
