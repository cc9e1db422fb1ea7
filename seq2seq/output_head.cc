#include "seq2seq/output_head.h"

#include <algorithm>
#include <optional>

#include "autodiff/ops/linear.h"
#include "nn/initializers.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> OutputHead<T>::Logits(Forward<T>& forward, Var<T> readout) const {
  return forward.Site("logits",
                      LogitsOf(forward, forward.Site("readout", readout)));
}

template <typename T>
Var<T> OutputHead<T>::Loss(Forward<T>& forward, Var<T> readout,
                           absl::Span<const int32_t> targets,
                           double label_smoothing) const {
  const CrossEntropyOptions options = {.label_smoothing = label_smoothing,
                                       .ignore_id = special_ids().pad};
  if (forward.Request("logits").changes_path()) {
    return CrossEntropy(Logits(forward, readout), targets, options);
  }
  readout = forward.Site("readout", readout);
  forward.LazySite("logits", [&] { return LogitsOf(forward, readout); });
  return LossOf(forward, readout, targets, options);
}

template <typename T>
LinearHead<T>::LinearHead(const ParameterScope<T>& scope, int64_t inputs,
                          int64_t vocabulary, const LinearOptions& options,
                          const SpecialIds& special_ids)
    : vocabulary_(vocabulary), special_ids_(special_ids) {
  const LinearLayer<T> layer(scope, inputs, vocabulary, options);
  weight_ = layer.weight();
  bias_ = layer.bias();
}

template <typename T>
LinearHead<T>::LinearHead(const ParameterScope<T>& scope,
                          Parameter<T> embedding, bool bias,
                          const SpecialIds& special_ids)
    : vocabulary_(scope.store().info(embedding).shape[0]),
      weight_(embedding),
      special_ids_(special_ids) {
  scope.Alias("weight", embedding);
  if (bias) bias_ = scope.Add("bias", {vocabulary_}, Zeros());
}

template <typename T>
Var<T> LinearHead<T>::Bias(Forward<T>& forward) const {
  return bias_.has_value() ? forward[bias_] : Var<T>();
}

template <typename T>
Var<T> LinearHead<T>::LogitsOf(Forward<T>& forward, Var<T> readout) const {
  const NameScope<T> scope(forward.tape(), "output");
  return Linear(readout, forward[weight_], Bias(forward));
}

template <typename T>
Var<T> LinearHead<T>::LossOf(Forward<T>& forward, Var<T> readout,
                             absl::Span<const int32_t> targets,
                             const CrossEntropyOptions& options) const {
  const NameScope<T> scope(forward.tape(), "output");
  return LinearCrossEntropy(readout.Reshape({readout.rows(), readout.cols()}),
                            forward[weight_], Bias(forward), targets, options);
}

template <typename T>
TokenScoreSums ScoreTokens(const OutputHead<T>& head, Forward<T>& forward,
                           Var<T> readout, absl::Span<const int32_t> targets,
                           std::vector<int32_t>* likeliest) {
  // The number of logits of a block, 4 MB in float. A block has at least one
  // row.
  constexpr int64_t kBlockElements = int64_t{1} << 20;
  Tape<T>& tape = forward.tape();
  REGARD_CHECK(!readout.needs_grad()) << "the readout is recorded";
  REGARD_CHECK_EQ(readout.rows(), static_cast<int64_t>(targets.size()));
  const int32_t pad = head.special_ids().pad;
  const int64_t rows = readout.rows();
  const int64_t width = readout.cols();
  const int64_t block =
      std::max<int64_t>(1, kBlockElements / head.vocabulary());
  TokenScoreSums scores;
  for (int64_t first = 0; first < rows; first += block) {
    const int64_t count = std::min(block, rows - first);
    const typename Tape<T>::Mark mark = tape.Save();
    std::optional<NameScope<T>> scope;
    if (rows > block) scope.emplace(tape, "block", first / block);
    const auto block_logits =
        targets.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    const Var<T> logits = head.Logits(
        forward, tape.View(readout.data() + first * width, {count, width}));
    scores.loss += static_cast<double>(
        CrossEntropy(logits, block_logits, {.ignore_id = pad}).item());
    for (int64_t row = 0; row < count; ++row) {
      const int32_t target = block_logits[static_cast<size_t>(row)];
      if (target == pad) continue;
      const T* const of_row = logits.data() + row * logits.cols();
      const auto best =
          std::max_element(of_row, of_row + logits.cols()) - of_row;
      scores.correct += best == target;
      if (likeliest != nullptr) {
        likeliest->push_back(static_cast<int32_t>(best));
      }
      ++scores.count;
    }
    tape.Rewind(mark);
  }
  return scores;
}

REGARD_INSTANTIATE_CLASS(OutputHead);
REGARD_INSTANTIATE_CLASS(LinearHead);
REGARD_INSTANTIATE_FUNCTION(ScoreTokens);

}  // namespace regard
