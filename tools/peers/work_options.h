// The shapes of a work, as the bench's works.py says them on the command line.
#ifndef TOOLS_PEERS_WORK_OPTIONS_H_
#define TOOLS_PEERS_WORK_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "attention/attention_registry.h"
#include "attention/transformer/transformer.pb.h"

namespace regard {

// Field for field Work of works.py; what a kind of work does not use is 0.
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
  int64_t beam = 0;
  int64_t heads = 0;
  int64_t feed_forward = 0;
  int64_t patch = 0;
  int64_t channels = 1;
  int threads = 1;
};

// From arguments --field=value; each is required to be known and well-formed.
absl::StatusOr<WorkOptions> ParseWorkOptions(int argc, char** argv);

// A Transformer of these sizes, whose attention has no biases.
TransformerConfig TransformerOf(const WorkOptions& options);

AttentionRegistry BuiltInScorers();

}  // namespace regard

#endif  // TOOLS_PEERS_WORK_OPTIONS_H_
