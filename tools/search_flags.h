// Flags that set fields of a message, and those of searches.
#ifndef TOOLS_SEARCH_FLAGS_H_
#define TOOLS_SEARCH_FLAGS_H_

#include <list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "experiments/config/command_line.h"
#include "google/protobuf/message.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

// Flags named like fields; it outlives CommandLine::Parse().
class FieldFlags {
 public:
  explicit FieldFlags(CommandLine& line) : line_(line) {}

  void Number(const char* name, int min, int max, const char* help);
  void Real(const char* name, double min, double max, const char* help);

  // Sets the fields whose flags were given.
  void SetIn(google::protobuf::Message* message) const;

 private:
  CommandLine& line_;
  // By name; below 0: not given.
  std::list<std::pair<std::string, int>> numbers_;
  std::list<std::pair<std::string, double>> reals_;
};

// Flags of SearchConfig, and of SamplingConfig.
void AddSearchFlags(FieldFlags& flags);
void AddSamplingFlags(FieldFlags& flags);

// Replaces in `search` what flags have `given`, and validates the whole.
// `sample` turns to sampling. Errors are complete to print.
absl::Status ReplaceSearch(const SearchConfig& given, bool sample,
                           const SamplingConfig& sampling,
                           SearchConfig* search);

}  // namespace regard

#endif  // TOOLS_SEARCH_FLAGS_H_
