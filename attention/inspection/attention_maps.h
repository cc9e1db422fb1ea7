// Collects the attention maps of a pass from the hook points that a hook has
// read.
//
//   const std::vector<AttentionMap<float>> maps =
//       RecordAttentionMaps(forward, {kDecoderMaps},
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
#include "nn/hook.h"
#include "nn/scoped_hook.h"

namespace regard {

// Patterns of hook points: the weights of all attention layers, or of the
// attention layers in decoders.
inline constexpr char kAllMaps[] = "*attention/weights";
inline constexpr char kDecoderMaps[] = "*decoder*attention/weights";

// Returns a pattern that matches a hook point in all layers of its stack, such
// as "decoder/layers[*]/self/attention/weights".
std::string AllLayersPattern(absl::string_view site);

// The attention weights before dropout, or the attention scores, of one layer.
template <typename T>
struct AttentionMap {
  std::string site;  // hook point; see AllStepsPattern()
  // Name in output files, with a stable format:
  // * "decoder.0.self" and "decoder.0.cross" for layers[0];
  // * "attention" for a recurrent decoder;
  // * the scope of the attention layer in all other cases.
  std::string name;
  std::string stack;  // scope of the layers, or "" without layers
  int64_t layer = 0;
  // Whether the keys are positions of the memory. If false, they are positions
  // of the queries' own sequence.
  bool over_memory = false;
  // The shape [rows, heads, positions, keys], or [sources, heads, queries,
  // keys] if `over_memory`. The queries of a source are the positions of its
  // only row, or its rows at a single position.
  Shape shape;
  std::vector<T> weights;
  std::vector<T> gradients;  // empty if none were read
};

// Returns the maps in the order of the pass. The steps of a recurrent decoder
// are the queries of one map. If a source has fewer steps, its weights at the
// missing steps are 0. If `value` is "scores", the maps have attention scores
// instead of weights.
template <typename T>
std::vector<AttentionMap<T>> AttentionMaps(const SiteValueRecorder<T>& recorder,
                                           absl::string_view value = "weights");

// Runs pass(), which computes on `forward`, and returns the maps at the hook
// points that match `patterns`.
template <typename T, typename F>
std::vector<AttentionMap<T>> RecordAttentionMaps(
    Forward<T>& forward, std::vector<std::string> patterns, F pass) {
  SiteValueRecorder<T> recorder(std::move(patterns));
  const ScopedExtraHook<T> watch(forward, &recorder);
  pass();
  return AttentionMaps(recorder);
}

// Copies one head of `from`, [sources, heads, queries, keys], to `to`,
// [sources, queries, keys]. If `head` is -1, copies the mean over heads.
template <typename T>
void CopyHead(const Shape& shape, const T* from, int64_t head, T* to);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_ATTENTION_MAPS_H_
