// Describes one prediction of a task for inspection: the pass that computes it,
// and labels for positions and outputs.
#ifndef ATTENTION_INSPECTION_TRACE_H_
#define ATTENTION_INSPECTION_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"

namespace regard {

// The maximum number of traced positions in a text. Each position requires a
// pass.
inline constexpr int64_t kMaxTraced = 100;

struct TraceOptions {
  // The text to explain, which may be empty. If absent, the model's own
  // prediction is explained.
  std::optional<std::string> target = {};
  int beam = 0;  // beam width for the prediction; 0 means as configured
  // The maximum number of tokens in an input or a target. A caller that runs
  // one pass may allow more than Inspect().
  int64_t most_tokens = kMaxTraced;
};

// An image whose patches are positions of a sequence.
struct TracedImage {
  int height;
  int width;
  std::vector<uint8_t> rgb = {};  // [height, width, 3]
  int rows;                       // number of rows of patches
  int columns;
  int first;  // position of the first patch
};

// A sequence of positions in a model.
struct TracedSequence {
  std::string name = {};                 // "source", "image"
  std::vector<std::string> labels = {};  // the token that each position reads
  // The token that each position writes, used as the label of a query. If
  // empty, queries also have `labels`.
  std::vector<std::string> writes = {};
  std::optional<TracedImage> image = {};

  const std::vector<std::string>& query_labels() const {
    return writes.empty() ? labels : writes;
  }
};

// Maps the hook points that match a pattern to sequences. `queries` and `keys`
// are indices of sequences.
struct SiteSequences {
  std::string pattern = {};  // pattern for MatchesSite()
  // Sequence of the queries, or of the positions of a value without queries.
  size_t queries = 0;
  size_t keys = 0;
};

struct TracedOutputLabel {
  std::string name = {};
  int64_t position = -1;  // position in the sequence `writer`, or -1
};

// Selects the sum of all outputs. For a text, the sum is the log-probability of
// the text.
inline constexpr int64_t kAllOutputs = -1;

struct TraceDescription {
  std::string input = {};       // the input of the model
  std::string prediction = {};  // the prediction that is explained
  std::vector<TracedSequence> sequences = {};
  std::vector<SiteSequences> sites = {};  // the first match is used
  std::vector<TracedOutputLabel> outputs = {};
  std::string output_unit = "log p";
  // the default output; users may choose another output
  int64_t chosen = kAllOutputs;
  // Whether each output depends only on its own and earlier positions. If true,
  // the weights of a query have the gradient of the output that the query
  // writes.
  bool successive = false;
  size_t writer = 0;
  // Pattern of the weights that align outputs with inputs, or "" if there are
  // none. If several hook points match, the last one is used. If
  // `alignment_head` is -1, the mean over heads is used.
  std::string alignment = {};
  int64_t alignment_head = -1;
  struct Link {
    int query;
    int key;
  };
  std::vector<Link> gold = {};                      // gold alignments, if known
  std::vector<std::string> inputs = {"*embedded"};  // hook points of the inputs
  // The value of TraceOptions::target with which this prediction can be
  // explained again. Absent if no target reproduces the prediction.
  std::optional<std::string> target = {};
  std::vector<std::string> notes = {};  // messages for the user

  // Return `count` labels for the queries or the keys of a hook point. The
  // labels are numbers from 0 if no pattern matches, or if the sequence does
  // not have `count` positions.
  std::vector<std::string> QueryLabels(absl::string_view site,
                                       int64_t count) const;
  std::vector<std::string> KeyLabels(absl::string_view site,
                                     int64_t count) const;
  // Returns null if no pattern matches.
  const SiteSequences* Find(absl::string_view site) const;
  bool QueriesWriteOutputs(
      absl::string_view site) const;  // whether queries write outputs
};

// The predictions that a model would make if one of its layers were the last.
// See nostalgebraist, "interpreting GPT: the logit lens", 2020.
template <typename T>
struct LogitLensSpec {
  // Pattern of residuals. The last residual of each layer is used.
  std::string sites = {};
  std::vector<std::string> rows = {};  // names of the predictions
  // Maps a residual to log-probabilities [rows, choices], with the last norm
  // and the output head of the model. Null if the model has no residual layers.
  std::function<Var<T>(Forward<T>&, Var<T>)> log_probabilities = {};
  std::function<std::string(size_t)> name = {};  // name of a choice
};

template <typename T>
struct TraceablePrediction {
  TraceDescription labels = {};
  // Computes the outputs, [outputs], on the tape of a step that has begun. The
  // values are natural logarithms of probabilities, unless output_unit names
  // another unit. The result is empty if there are no outputs.
  std::function<Var<T>(Forward<T>&)> pass = {};
  LogitLensSpec<T> lens = {};
};

// Returns element ids[i] of each row i of x [rows, cols]: [rows].
template <typename T>
Var<T> PickPerRow(Var<T> x, absl::Span<const int32_t> ids);

// Returns an error if `target` or `beam` is set. For models that do not write
// text.
absl::Status CheckNoTarget(const TraceOptions& options);
// Returns an error if `size` is 0 or exceeds `most` tokens. `what` is "input"
// or "target", for the message.
absl::Status CheckTracedSize(absl::string_view what, size_t size,
                             int64_t most = kMaxTraced);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_TRACE_H_
