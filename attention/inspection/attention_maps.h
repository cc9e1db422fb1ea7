// The attention maps of a pass, from the sites that a probe has read.
//
//   const std::vector<AttentionMap<float>> maps =
//       MapsOf(forward, {kDecoderMaps},
//              [&] { decoder.Run(forward, memory, ids); });
#ifndef ATTENTION_INSPECTION_ATTENTION_MAPS_H_
#define ATTENTION_INSPECTION_ATTENTION_MAPS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "autodiff/shape.h"
#include "nn/forward.h"
#include "nn/probe.h"
#include "nn/scoped_probe.h"

namespace regard {

// Patterns of sites: the weights of all attentions, and of those of a decoder.
inline constexpr char kAllMaps[] = "*attention/weights";
inline constexpr char kDecoderMaps[] = "*decoder*attention/weights";

// A pattern of the same site in all layers of its stack:
// "decoder/layers[*]/self/attention/weights".
std::string JoinLayers(absl::string_view site);

// Attention weights of one layer, before dropout.
template <typename T>
struct AttentionMap {
  std::string site;  // with joined steps
  // In files, where it stays as it was; people are shown the site.
  // "decoder.0.self" and "decoder.0.cross" of layers[0], "encoder.0.self";
  // "attention" of a recurrent decoder; elsewhere the attention's scope.
  std::string name;
  std::string stack;  // scope of the layers; empty: there are none
  int64_t layer = 0;
  // Whether the keys are positions of the memory; else those of the queries'
  // own sequence.
  bool over_memory = false;
  // Over the memory [sources, heads, queries, keys], where queries are the
  // positions of one row, or the rows of a source at one position; otherwise
  // [rows, heads, positions, keys].
  Shape shape;
  std::vector<T> weights;
  std::vector<T> gradients;  // empty if none was read
};

// In the order of the pass. The steps of a recurrent decoder are the queries of
// one map; a source that a step leaves out has weights 0 there. With "scores"
// for `value`, the weights of a map are the scores of its attention.
template <typename T>
std::vector<AttentionMap<T>> AttentionMaps(const SiteRecorder<T>& recorder,
                                           absl::string_view value = "weights");

// Those that pass(), which computes on `forward`, leaves at the sites of
// `patterns`.
template <typename T, typename F>
std::vector<AttentionMap<T>> MapsOf(Forward<T>& forward,
                                    std::vector<std::string> patterns, F pass) {
  SiteRecorder<T> recorder(std::move(patterns));
  const ScopedProbe<T> watch(forward, &recorder);
  pass();
  return AttentionMaps(recorder);
}

// Copies head `head`, or the mean over heads if it is -1, of weights `from`
// [sources, heads, queries, keys] to [sources, queries, keys].
template <typename T>
void CopyHead(const Shape& shape, const T* from, int64_t head, T* to);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_ATTENTION_MAPS_H_
