// Probes, which read or replace values of a forward pass at hook points.
//
// Layers name hook points (sites): values of a pass, with names within the
// scopes of the tape. "encoder/layers[2]/self/attention/weights" are the
// attention weights of a layer, [batch, heads, queries, keys]. The names are
//
//   queries, keys, values  of an attention, split into heads
//   scores, weights        of an attention, before dropout
//   context                output of each head of an attention, after dropout
//   gates                  gates of a head output, from the layer's input
//   head_output            input of the output projection, with a head output
//   residual               residual stream after a branch of a layer
//   attention_output       output of a layer's attention or state mixer
//   feed_forward           output of a feed-forward network
//   state                  outputs of a recurrent layer
//   token_embedding        embeddings before positions are added
//   position_embedding     vectors of positions that are added
//   embedded               input of the first layer, from tokens or patches
//   attention_norm_scale   factor of each row in a norm of this name
//   distance_bias          what a position encoding adds to scores
//   readout, logits        input and output of an output head
//
// A probe reads the values of sites, or their gradients, or replaces them. What
// is only read changes no bit of the pass: a value that a fused kernel keeps to
// itself is computed beside it. For gradients and replacements the pass takes
// the composition of plain operations, whose bits may differ from the kernel's.
//
// Statistics of the rows of `weights` cost far less than their value: a fused
// kernel gives them without ever holding the weights.
#ifndef NN_PROBE_H_
#define NN_PROBE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "nn/row_statistics.h"

namespace regard {

// What a probe wants of a site.
struct SiteWish {
  bool value = false;
  bool gradient = false;
  bool replacement = false;
  // Passes the site's input to Replace() in place of its value. The input of a
  // "residual" is the term to which the branch is added.
  bool input = false;
  // Statistics of the rows of attention weights, see OnRows().
  RowWish rows = {};

  // Whether something is wanted of the value itself.
  bool any() const { return value || gradient || replacement; }
  // Whether the site's value must be one that the pass goes on with.
  bool changes_path() const { return gradient || replacement; }
};

// One watches one tape. Calls come in the order in which the pass computes.
template <typename T>
class Probe {
 public:
  virtual ~Probe() = default;

  // `site` is a full name, such as "encoder/layers[2]/self/attention/weights".
  virtual SiteWish Wish(const std::string& site) = 0;

  // A site whose value is wanted, once in a pass, also where layers are
  // recomputed. The Var lives until the tape is rewound, or goes back.
  virtual void OnValue(const std::string& /*site*/, Var<T> /*value*/) {}

  // Statistics of the rows of a site of attention weights, where some are
  // wanted, once in a pass. They are of the weights that the pass goes on with,
  // and may have more statistics than this probe asks for. They live as long as
  // a value.
  virtual void OnRows(const std::string& /*site*/,
                      const RowStatistics& /*rows*/) {}

  // In the backward pass, after all that `value` goes into: value.grad_data()
  // is its gradient. Not called where no gradient arrives.
  virtual void OnGradient(const std::string& /*site*/, Var<T> /*value*/) {}

  // What the pass uses in place of `value`: of the same shape, and the same in
  // a recomputation, which asks again.
  virtual Var<T> Replace(Tape<T>& /*tape*/, const std::string& /*site*/,
                         Var<T> value) {
    return value;
  }
};

// Whether a site's name is of a pattern, in which `*` stands for any
// characters, and all others for themselves.
bool MatchesSite(absl::string_view pattern, absl::string_view site);
// Whether it is of one of them.
bool MatchesSite(absl::Span<const std::string> patterns,
                 absl::string_view site);

// The site's name, in which the steps of a recurrent decoder, which have a
// scope each, are one: "step[*]/decoder/attention/weights".
std::string JoinSteps(absl::string_view site);

// Copies the values, or the gradients, of sites that are of one of the
// patterns.
template <typename T>
class SiteRecorder : public Probe<T> {
 public:
  struct Seen {
    std::string site;
    Shape shape;
    std::vector<T> value;     // empty where no pattern wants it
    std::vector<T> gradient;  // empty where none is wanted, or none arrived
  };

  explicit SiteRecorder(std::vector<std::string> values,
                        std::vector<std::string> gradients = {});

  SiteWish Wish(const std::string& site) override;
  void OnValue(const std::string& site, Var<T> value) override;
  void OnGradient(const std::string& site, Var<T> value) override;

  // In the order of the pass; values come before the gradients of the same
  // pass. A site that is visited in several passes is there as often.
  absl::Span<const Seen> seen() const { return seen_; }
  // The last visit of `site`; null if there was none.
  const Seen* Find(absl::string_view site) const;
  void Clear() { seen_.clear(); }

 private:
  const std::vector<std::string> values_;
  const std::vector<std::string> gradients_;
  std::vector<Seen> seen_;
};

extern template class SiteRecorder<float>;
extern template class SiteRecorder<double>;

}  // namespace regard

#endif  // NN_PROBE_H_
