// Finds the sources of the residual stream of Transformers at the hook points
// of a pass: embeddings of tokens and positions, heads of attention layers and
// of state mixers, and feed-forward networks.
//
// Residual additions, norms and projections lead from a source to a later
// layer. They are linear if the scales of norms keep the values that they have
// in the pass. In this case, the input of a layer is a sum over sources, plus a
// part that depends on no source.
#ifndef ATTENTION_INSPECTION_RESIDUAL_SOURCES_H_
#define ATTENTION_INSPECTION_RESIDUAL_SOURCES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/inspection/trace.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/hook.h"

namespace regard {

struct ResidualSourceId {
  // The hook point of the source:
  // * ".../attention/context" for a head;
  // * ".../attention_output" for an attention layer whose output is not the sum
  //   over its heads;
  // * ".../feed_forward" for a feed-forward network;
  // * the hook point of an embedding.
  std::string site = {};
  int64_t head = -1;  // -1 unless `site` is a context

  // Returns a name such as "decoder/layers[0]/self, head 1" or
  // "decoder/token_embedding".
  std::string Name() const;
};

template <typename T>
struct ResidualSources {
  struct Part {
    ResidualSourceId source = {};
    std::string at = {};        // the hook point to which the source adds
    std::vector<T> value = {};  // same size as the value at `at`
  };
  std::vector<Part> parts = {};  // ordered as in the pass
  // Values at the hook points when no source contributes. Scales of norms keep
  // their values, outputs of attention layers keep their biases, and all other
  // values are zero.
  std::map<std::string, std::vector<T>> held = {};
};

// Returns the patterns of the hook points that FindResidualSources() reads.
std::vector<std::string> ResidualSourceSites();

// Returns the sources of a pass of `traced`, which visited each hook point in
// `seen` once. Runs one pass without heads, and one pass for each head of the
// layer with the most heads.
template <typename T>
ResidualSources<T> FindResidualSources(
    Forward<T>& forward, const TraceablePrediction<T>& traced,
    absl::Span<const typename SiteValueRecorder<T>::Seen> seen);

// Replaces the values of a pass by the held values, plus the value of at most
// one source.
template <typename T>
class SingleSourceHook : public Hook<T> {
 public:
  explicit SingleSourceHook(ResidualSources<T> sources)
      : sources_(std::move(sources)) {}

  const ResidualSources<T>& sources() const { return sources_; }
  // Selects a part of sources(). Null selects no source.
  void Choose(const typename ResidualSources<T>::Part* part) { part_ = part; }

  HookRequest Request(const std::string& site) override {
    return {.replacement = sources_.held.contains(site)};
  }
  Var<T> Replace(Tape<T>& tape, const std::string& site, Var<T> value) override;

 private:
  const ResidualSources<T> sources_;
  const typename ResidualSources<T>::Part* part_ = nullptr;
};

extern template class SingleSourceHook<float>;
extern template class SingleSourceHook<double>;

}  // namespace regard

#endif  // ATTENTION_INSPECTION_RESIDUAL_SOURCES_H_
