// What a task says of one question so that its model can be looked at: the pass
// that answers, and what its positions and outputs are.
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

// Positions of a written text that are traced at most: each takes a pass.
inline constexpr int64_t kMostTraced = 100;

struct TraceOptions {
  // The text to explain; absent: the model's own. "" is a text, too.
  std::optional<std::string> target = {};
  int beam = 0;  // hypotheses of a search for the model's own; 0: as configured
  // Tokens of an input or a target at most. One pass may read more than
  // Inspect() looks at.
  int64_t most_tokens = kMostTraced;
};

// An image whose patches are positions of a sequence.
struct TracedImage {
  int height;
  int width;
  std::vector<uint8_t> rgb = {};  // [height, width, 3]
  int rows;                       // of patches
  int columns;
  int first;  // position of the first patch
};

// Positions that a model computes with.
struct TracedSequence {
  std::string name = {};                 // "source", "image"
  std::vector<std::string> labels = {};  // what each position reads
  // What each position writes, if it is called so as a query.
  std::vector<std::string> writes = {};
  std::optional<TracedImage> image = {};

  const std::vector<std::string>& query_labels() const {
    return writes.empty() ? labels : writes;
  }
};

// Whose positions the sites of a pattern have: sequences, by their number.
struct TracedSites {
  std::string pattern = {};  // as of MatchesSite()
  size_t queries = 0;        // and of sites without queries and keys
  size_t keys = 0;
};

struct TracedOutput {
  std::string name = {};
  int64_t position = -1;  // of the sequence `writer`; -1: of no one
};

// Sum of all outputs: of a text, the log-probability of the whole.
inline constexpr int64_t kAllOutputs = -1;

struct TraceLabels {
  std::string input = {};   // what the model reads
  std::string answer = {};  // what is explained
  std::vector<TracedSequence> sequences = {};
  std::vector<TracedSites> sites = {};  // the first that matches counts
  std::vector<TracedOutput> outputs = {};
  std::string output_unit = "log p";
  int64_t chosen = kAllOutputs;  // unless the user chooses another
  // Whether each output is a function of what stands at its position and
  // before: then a query's weights are told the gradient of what it writes.
  bool successive = false;
  size_t writer = 0;
  // Weights of the attention that says where outputs look: the last site that
  // matches; "": there is none. The mean over heads if the head is -1.
  std::string alignment = {};
  int64_t alignment_head = -1;
  struct Link {
    int query;
    int key;
  };
  std::vector<Link> gold = {};  // of the alignment, where they are known
  std::vector<std::string> inputs = {"*embedded"};  // sites of what is read
  // What TraceOptions.target is to explain the same answer; absent: none is.
  std::optional<std::string> target = {};
  std::vector<std::string> notes = {};  // what the user should know

  // Of a site's queries, or of its keys: `count` labels, which are numbers from
  // 0 where no pattern fits.
  std::vector<std::string> QueryLabels(absl::string_view site,
                                       int64_t count) const;
  std::vector<std::string> KeyLabels(absl::string_view site,
                                     int64_t count) const;
  // Null if no pattern fits.
  const TracedSites* Find(absl::string_view site) const;
  bool Writes(absl::string_view site) const;  // whether queries write outputs
};

// What a model would answer if it ended after a layer: nostalgebraist,
// "interpreting GPT: the logit lens", 2020.
template <typename T>
struct LogitLens {
  std::string sites = {};              // residuals; a layer's last one counts
  std::vector<std::string> rows = {};  // names of what is answered
  // A residual, as it is at a site -> log-probabilities [rows, choices], by the
  // model's own last norm and head. Null: the model has no such layers.
  std::function<Var<T>(Forward<T>&, Var<T>)> log_probabilities = {};
  std::function<std::string(size_t)> name = {};  // of a choice
};

template <typename T>
struct Traced {
  TraceLabels labels = {};
  // The values of the outputs, [outputs], none without any, on the tape of a
  // step that has begun: natural logarithms of probabilities, or what else
  // output_unit says.
  std::function<Var<T>(Forward<T>&)> pass = {};
  LogitLens<T> lens = {};
};

// Element ids[i] of row i of x [rows, cols] -> [rows].
template <typename T>
Var<T> PickEach(Var<T> x, absl::Span<const int32_t> ids);

// An error if there is a text to explain, for a model that writes none.
absl::Status RefuseTarget(const TraceOptions& options);
// An error unless `size` tokens of `what`, "input" or "target", can be traced.
absl::Status CheckTracedSize(absl::string_view what, size_t size,
                             int64_t most = kMostTraced);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_TRACE_H_
