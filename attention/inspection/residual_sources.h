// Sources of the residual stream of Transformers, from the hook points of a
// pass: embeddings of tokens and of positions, each head of attentions and
// state mixers, and feed-forward networks.
//
// Between a source and what a later layer reads are residual additions, norms
// and projections. With the scales of norms held at their values in the pass,
// all of these are linear: what a layer reads is the sum, over sources, of what
// it reads of each, and of what it reads of none.
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
#include "nn/probe.h"

namespace regard {

struct ResidualSource {
  // ".../attention/context" with a head, ".../attention_output" of an attention
  // that is not the sum of its heads, ".../feed_forward", or an embedding.
  std::string site = {};
  int64_t head = -1;  // if the site is a context

  // "decoder/layers[0]/self, head 1", "decoder/token_embedding".
  std::string Name() const;
};

template <typename T>
struct ResidualSources {
  struct Part {
    ResidualSource source = {};
    std::string at = {};        // the hook point to which the source adds
    std::vector<T> value = {};  // as large as the value there
  };
  std::vector<Part> parts = {};  // in the order of the pass
  // Values at the hook points that have no source: the scales of norms, and the
  // output of an attention without its heads, which is its biases. Elsewhere,
  // zeros.
  std::map<std::string, std::vector<T>> held = {};
};

// Patterns of the hook points that FindResidualSources() needs.
std::vector<std::string> ResidualSourceSites();

// The sources of `seen`, which a pass of `traced` has visited once each. Takes
// a pass for each head of the attention with the most heads, and one more.
template <typename T>
ResidualSources<T> FindResidualSources(
    Forward<T>& forward, const Traced<T>& traced,
    absl::Span<const typename SiteRecorder<T>::Seen> seen);

// A probe under which a pass has the held values and at most one source.
template <typename T>
class OneSource : public Probe<T> {
 public:
  explicit OneSource(ResidualSources<T> sources)
      : sources_(std::move(sources)) {}

  const ResidualSources<T>& sources() const { return sources_; }
  // One of the parts; null: none.
  void Choose(const typename ResidualSources<T>::Part* part) { part_ = part; }

  SiteWish Wish(const std::string& site) override {
    return {.replacement = sources_.held.contains(site)};
  }
  Var<T> Replace(Tape<T>& tape, const std::string& site, Var<T> value) override;

 private:
  const ResidualSources<T> sources_;
  const typename ResidualSources<T>::Part* part_ = nullptr;
};

extern template class OneSource<float>;
extern template class OneSource<double>;

}  // namespace regard

#endif  // ATTENTION_INSPECTION_RESIDUAL_SOURCES_H_
