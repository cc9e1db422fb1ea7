// Hooks, which read or replace values of a forward pass at hook points.
//
// A hook point (site) is a named value of a pass. A layer chooses the last part
// of the name, and the scopes of the tape are its prefix. For example,
// "encoder/layers[2]/self/attention/weights" are the attention weights of a
// layer, [batch, heads, queries, keys]. The last parts are:
//
//   queries, keys, values  inputs of attention, split into heads
//   scores, weights        scores and weights of attention, before dropout
//   context                output of each head of attention, after dropout
//   gates                  gates of a head output, from the layer's input
//   head_output            input of the output projection, after a head output
//   residual               residual stream after a branch of a layer
//   attention_output       output of a layer's attention or state mixer
//   feed_forward           output of a feed-forward network
//   state                  outputs of a recurrent layer
//   token_embedding        embeddings before positions are added
//   position_embedding     position vectors that are added to the embeddings
//   embedded               input of the first layer, from tokens or patches
//   attention_norm_scale   factor of each row in the norm "attention_norm"
//   distance_bias          bias of the scores from a position encoding
//   log_decays             logarithms of the values of a forget gate
//   readout, logits        input and output of an output head
//
// A hook reads values or gradients, or replaces values. If it only reads
// values, the pass stays bit-identical: values that fused kernels do not store
// are computed separately. If a hook replaces scores or weights, or requests
// their gradients, the pass uses plain operations instead of fused kernels. The
// results may then differ in rounding.
//
// Statistics of the rows of `weights` cost much less than the weights, because
// fused kernels compute them without storing the weights.
#ifndef NN_HOOK_H_
#define NN_HOOK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "nn/row_statistics.h"

namespace regard {

// The request of a hook for one hook point.
struct HookRequest {
  bool value = false;
  bool gradient = false;
  bool replacement = false;
  // Whether Replace() receives the input of the hook point instead of its
  // value. The input of "residual" is the term to which the branch is added.
  bool input = false;
  // Statistics of the rows of attention weights. See OnRowStatistics().
  RowStatisticsRequest rows = {};

  // Whether the hook reads or replaces the value itself, not only its row
  // statistics.
  bool any() const { return value || gradient || replacement; }
  // Whether the pass must use a stored value, because the hook reads the
  // gradient of the value or replaces the value.
  bool changes_path() const { return gradient || replacement; }
};

// Reads or replaces values of passes on one tape. The functions are called in
// the order of the computation.
template <typename T>
class Hook {
 public:
  virtual ~Hook() = default;

  // Returns the request for a hook point. `site` is a full name, such as
  // "encoder/layers[2]/self/attention/weights".
  virtual HookRequest Request(const std::string& site) = 0;

  // Receives a requested value. Called once in a pass, even if layers are
  // recomputed. The Var is valid until the tape is rewound or runs a backward
  // pass.
  virtual void OnValue(const std::string& /*site*/, Var<T> /*value*/) {}

  // Receives the requested row statistics of attention weights, once in a pass.
  // They describe the weights with which the pass continues, and may include
  // statistics that this hook did not request. Valid until the tape is rewound
  // or runs a backward pass.
  virtual void OnRowStatistics(const std::string& /*site*/,
                               const AttentionStatistics& /*rows*/) {}

  // Called in the backward pass when the gradient value.grad_data() is
  // complete. Not called for a value without a gradient.
  virtual void OnGradient(const std::string& /*site*/, Var<T> /*value*/) {}

  // Returns the value that the pass uses instead of `value`, in the same shape.
  // If layers are recomputed, Replace() is called again and must return the
  // same value.
  virtual Var<T> Replace(Tape<T>& /*tape*/, const std::string& /*site*/,
                         Var<T> value) {
    return value;
  }
};

// Whether the name of a hook point matches a pattern. `*` matches any
// characters, and all other characters match themselves.
bool MatchesSite(absl::string_view pattern, absl::string_view site);
// Whether the name of a hook point matches any of the patterns.
bool MatchesSite(absl::Span<const std::string> patterns,
                 absl::string_view site);

// Returns the name of a hook point with a star in place of the step of a
// recurrent decoder: "step[*]/decoder/attention/weights".
std::string AllStepsPattern(absl::string_view site);

// Copies the values or gradients at hook points that match a pattern.
//
//   SiteValueRecorder<float> recorder({"*attention/weights"});
//   const ScopedExtraHook<float> watch(forward, &recorder);
//   ...                              // a pass that computes on `forward`
//   for (const auto& seen : recorder.seen()) Show(seen.site, seen.value);
template <typename T>
class SiteValueRecorder : public Hook<T> {
 public:
  struct Seen {
    std::string site;
    Shape shape;
    std::vector<T> value;     // empty unless a pattern matches
    std::vector<T> gradient;  // empty if not requested or if absent
  };

  explicit SiteValueRecorder(std::vector<std::string> values,
                             std::vector<std::string> gradients = {});

  HookRequest Request(const std::string& site) override;
  void OnValue(const std::string& site, Var<T> value) override;
  void OnGradient(const std::string& site, Var<T> value) override;

  // The visits of hook points, in the order of the pass. Values come before
  // gradients of the same pass. A hook point that was visited in several passes
  // has several entries.
  absl::Span<const Seen> seen() const { return seen_; }
  // Returns the last visit of `site`, or null if `site` was not visited.
  const Seen* Find(absl::string_view site) const;
  void Clear() { seen_.clear(); }

 private:
  const std::vector<std::string> values_;
  const std::vector<std::string> gradients_;
  std::vector<Seen> seen_;
};

extern template class SiteValueRecorder<float>;
extern template class SiteValueRecorder<double>;

}  // namespace regard

#endif  // NN_HOOK_H_
