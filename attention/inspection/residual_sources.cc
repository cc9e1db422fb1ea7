#include "attention/inspection/residual_sources.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "autodiff/instantiate.h"
#include "nn/scoped_hook.h"

namespace regard {

namespace {

template <typename T>
using Seen = typename SiteValueRecorder<T>::Seen;
template <typename T>
using Part = typename ResidualSources<T>::Part;

constexpr absl::string_view kScale = "norm_scale";
constexpr absl::string_view kOutput = "/attention_output";
constexpr absl::string_view kContext = "/attention/context";
// Hook points whose whole value is one source.
constexpr absl::string_view kNetwork = "/feed_forward";
constexpr absl::string_view kWhole[] = {"token_embedding", "position_embedding",
                                        kNetwork};

// Returns the hook point of an attention layer's output. `context` is the hook
// point of its context.
std::string OutputOf(absl::string_view context) {
  absl::ConsumeSuffix(&context, kContext);
  return absl::StrCat(context, kOutput);
}

// A hook that sets all heads except one to zero in each context and records
// the resulting attention outputs. The pass continues with the original
// outputs.
template <typename T>
class OneHead : public Hook<T> {
 public:
  explicit OneHead(const std::map<std::string, const Seen<T>*>& outputs)
      : outputs_(outputs) {}

  // Selects a head. -1 selects no head, so that all heads are set to zero.
  void Choose(int64_t head) { head_ = head; }
  // Returns the attention output at hook point `output` that the last pass
  // recorded.
  const std::vector<T>& Read(const std::string& output) const {
    return read_.at(output);
  }

  HookRequest Request(const std::string& site) override {
    return {.replacement = outputs_.contains(
                absl::EndsWith(site, kContext) ? OutputOf(site) : site)};
  }

  Var<T> Replace(Tape<T>& tape, const std::string& site,
                 Var<T> value) override {
    if (!absl::EndsWith(site, kContext)) {
      read_[site].assign(value.span().begin(), value.span().end());
      return tape.Constant(value.shape(), outputs_.at(site)->value);
    }
    const Var<T> kept = tape.Full(value.shape(), T(0));
    if (head_ < 0 || head_ >= value.dim(1)) return kept;
    const int64_t size = value.dim(2) * value.dim(3);
    for (int64_t row = head_; row < value.dim(0) * value.dim(1);
         row += value.dim(1)) {
      std::copy_n(value.data() + row * size, size, kept.data() + row * size);
    }
    return kept;
  }

 private:
  const std::map<std::string, const Seen<T>*>& outputs_;
  std::map<std::string, std::vector<T>> read_;
  int64_t head_ = -1;
};

// Adds the heads of an attention layer as sources. If the output is not the sum
// over heads, as with a norm over all heads, adds the whole layer as one source
// instead.
template <typename T>
void AddHeads(const Seen<T>& output, const std::string& context,
              const std::vector<std::vector<T>>& of_heads,
              const std::vector<T>& of_none, ResidualSources<T>* sources) {
  std::vector<Part<T>> parts;
  std::vector<double> sum(of_none.begin(), of_none.end());
  double magnitude = 0;
  for (const std::vector<T>& of_head : of_heads) {
    Part<T> part = {.source = {context, static_cast<int64_t>(parts.size())},
                    .at = output.site};
    for (size_t i = 0; i < sum.size(); ++i) {
      part.value.push_back(of_head[i] - of_none[i]);
      sum[i] += static_cast<double>(part.value[i]);
      magnitude =
          std::max({magnitude, std::abs(static_cast<double>(of_head[i])),
                    std::abs(static_cast<double>(of_none[i]))});
    }
    parts.push_back(std::move(part));
  }
  const double rounding = 64 * std::numeric_limits<T>::epsilon() * magnitude *
                          static_cast<double>(of_heads.size());
  Part<T> whole = {.source = {output.site}, .at = output.site};
  bool is_sum = true;
  for (size_t i = 0; i < sum.size(); ++i) {
    whole.value.push_back(output.value[i] - of_none[i]);
    const auto value = static_cast<double>(output.value[i]);
    is_sum = is_sum && std::abs(sum[i] - value) <= rounding;
  }
  if (!is_sum) parts = {std::move(whole)};
  for (Part<T>& part : parts) sources->parts.push_back(std::move(part));
  sources->held[output.site] = of_none;
}

}  // namespace

std::string ResidualSourceId::Name() const {
  absl::string_view name = site;
  if (absl::ConsumeSuffix(&name, kContext)) {
    return absl::StrCat(name, ", head ", head);
  }
  if (!absl::ConsumeSuffix(&name, kOutput)) {
    absl::ConsumeSuffix(&name, kNetwork);
  }
  return std::string(name);
}

std::vector<std::string> ResidualSourceSites() {
  std::vector<std::string> patterns;
  for (const absl::string_view name : {kScale, kOutput, kContext}) {
    patterns.push_back(absl::StrCat("*", name));
  }
  for (const absl::string_view name : kWhole) {
    patterns.push_back(absl::StrCat("*", name));
  }
  return patterns;
}

template <typename T>
ResidualSources<T> FindResidualSources(
    Forward<T>& forward, const TraceablePrediction<T>& traced,
    absl::Span<const typename SiteValueRecorder<T>::Seen> seen) {
  std::map<std::string, const Seen<T>*> outputs;
  // Keyed by the hook point of the attention output.
  std::map<std::string, const Seen<T>*> contexts;
  int64_t most_heads = 0;
  for (const Seen<T>& of : seen) {
    if (absl::EndsWith(of.site, kOutput)) outputs[of.site] = &of;
    if (!absl::EndsWith(of.site, kContext)) continue;
    contexts[OutputOf(of.site)] = &of;
    most_heads = std::max(most_heads, of.shape[1]);
  }
  OneHead<T> one_head(outputs);
  const auto read_with = [&](int64_t head) {
    one_head.Choose(head);
    forward.BeginStep();
    const ScopedExtraHook<T> watch(forward, &one_head);
    traced.pass(forward);
  };
  std::map<std::string, std::vector<std::vector<T>>> of_heads;
  if (!outputs.empty()) {
    for (int64_t head = 0; head < most_heads; ++head) {
      read_with(head);
      for (const auto& [site, output] : outputs) {
        if (head >= contexts.at(site)->shape[1]) continue;
        of_heads[site].push_back(one_head.Read(site));
      }
    }
    read_with(-1);
  }
  ResidualSources<T> sources;
  for (const Seen<T>& of : seen) {
    const auto ends_with = [&](absl::string_view name) {
      return absl::EndsWith(of.site, name);
    };
    if (ends_with(kScale)) {
      sources.held[of.site] = of.value;
    } else if (ends_with(kOutput)) {
      AddHeads<T>(of, contexts.at(of.site)->site, of_heads.at(of.site),
                  one_head.Read(of.site), &sources);
    } else if (std::ranges::any_of(kWhole, ends_with)) {
      sources.held[of.site].assign(of.value.size(), T(0));
      sources.parts.push_back(
          {.source = {of.site}, .at = of.site, .value = of.value});
    }
  }
  return sources;
}

template <typename T>
Var<T> SingleSourceHook<T>::Replace(Tape<T>& tape, const std::string& site,
                                    Var<T> value) {
  const Var<T> held = tape.Constant(value.shape(), sources_.held.at(site));
  if (part_ == nullptr || part_->at != site) return held;
  for (int64_t i = 0; i < held.size(); ++i) {
    held.data()[i] += part_->value[static_cast<size_t>(i)];
  }
  return held;
}

REGARD_INSTANTIATE_FUNCTION(FindResidualSources);
REGARD_INSTANTIATE_CLASS(SingleSourceHook);

}  // namespace regard
