// The lengths of the targets that a model was trained on. They limit the length
// of its output. A run stores them, because its data may no longer exist when
// the model is used.
#ifndef DATA_TARGET_LENGTHS_H_
#define DATA_TARGET_LENGTHS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace regard {

// `longest` and `ratio` are 0 for runs of earlier versions, which stored no
// lengths.
struct TargetLengths {
  int64_t longest = 0;  // ids of the longest target, including its end
  double ratio = 0;     // largest ratio of target ids to source ids
  // The number of unknown words in all targets.
  std::optional<int64_t> unknown = {};

  // Adds a pair with the given numbers of source ids (at least 1) and target
  // ids, both including the end of the sentence. `unknown_ids` is the number of
  // unknown words in the target.
  void Add(int64_t source_ids, int64_t target_ids, int64_t unknown_ids);

  // Conversions to and from the numbers that a run stores.
  std::map<std::string, double> ToNumbers() const;
  static TargetLengths FromNumbers(
      const std::map<std::string, double>& numbers);
};

}  // namespace regard

#endif  // DATA_TARGET_LENGTHS_H_
