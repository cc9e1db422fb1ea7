#include "tools/peers/work_options.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "attention/scoring/built_in_scores.h"

namespace regard {

absl::StatusOr<WorkOptions> ParseWorkOptions(int argc, char** argv) {
  WorkOptions options;
  int64_t threads = 1;
  const std::map<absl::string_view, int64_t*> numbers = {
      {"batch", &options.batch},
      {"source_time", &options.source_time},
      {"target_time", &options.target_time},
      {"embedding", &options.embedding},
      {"hidden", &options.hidden},
      {"layers", &options.layers},
      {"source_vocabulary", &options.source_vocabulary},
      {"target_vocabulary", &options.target_vocabulary},
      {"beam", &options.beam},
      {"heads", &options.heads},
      {"feed_forward", &options.feed_forward},
      {"patch", &options.patch},
      {"channels", &options.channels},
      {"threads", &threads}};
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    absl::ConsumePrefix(&argument, "--");
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(argument, absl::MaxSplits('=', 1));
    const auto number = numbers.find(parts.first);
    bool good = true;
    if (parts.first == "name") {
      options.name = std::string(parts.second);
    } else if (parts.first == "kind") {
      options.kind = std::string(parts.second);
    } else if (parts.first == "bidirectional") {
      good = absl::SimpleAtob(parts.second, &options.bidirectional);
    } else if (parts.first == "bfloat16") {
      good = absl::SimpleAtob(parts.second, &options.bfloat16);
    } else if (parts.first == "ragged") {
      good = absl::SimpleAtob(parts.second, &options.ragged);
    } else if (number != numbers.end()) {
      good = absl::SimpleAtoi(parts.second, number->second) &&
             *number->second >= 0;
    } else {
      good = false;
    }
    if (!good) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", argv[i], "' must be --FIELD=VALUE with a field of a workload"));
    }
  }
  options.threads = static_cast<int>(threads);
  return options;
}

TransformerConfig TransformerOf(const WorkOptions& options) {
  TransformerConfig transformer;
  transformer.set_width(static_cast<int>(options.hidden));
  transformer.set_layers(static_cast<int>(options.layers));
  transformer.mutable_attention()->set_heads(static_cast<int>(options.heads));
  transformer.mutable_attention()->set_bias(false);
  transformer.mutable_feed_forward()->set_hidden(
      static_cast<int>(options.feed_forward));
  return transformer;
}

AttentionRegistry BuiltInScorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

}  // namespace regard
