// The sizes of a workload, which works.py passes on the command line.
#ifndef TOOLS_PEERS_WORK_OPTIONS_H_
#define TOOLS_PEERS_WORK_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "attention/attention_registry.h"
#include "attention/transformer/transformer.pb.h"

namespace regard {

// Options of a workload: the fields of Work in works.py, and settings of the
// benchmark. Unused fields are 0.
struct WorkOptions {
  std::string name;
  std::string kind;
  int64_t batch = 0;
  int64_t source_time = 0;
  int64_t target_time = 0;
  int64_t embedding = 0;
  int64_t hidden = 0;
  int64_t layers = 1;
  int64_t source_vocabulary = 0;
  int64_t target_vocabulary = 0;
  bool bidirectional = false;
  bool ragged = false;
  bool bfloat16 = false;  // whether products round operands to bfloat16
  int64_t beam = 0;
  int64_t heads = 0;
  int64_t feed_forward = 0;
  int64_t patch = 0;
  int64_t channels = 1;
  int threads = 1;
};

// Parses arguments of the form --field=value. Returns an error if a field is
// unknown or malformed.
absl::StatusOr<WorkOptions> ParseWorkOptions(int argc, char** argv);

// Returns a Transformer of these sizes without biases in its attention.
TransformerConfig TransformerOf(const WorkOptions& options);

AttentionRegistry BuiltInScorers();

}  // namespace regard

#endif  // TOOLS_PEERS_WORK_OPTIONS_H_
