// The lengths of the targets that a model was trained on: how long an output
// may have to be. A run keeps them, as its data may be gone when it is used.
#ifndef DATA_TARGET_LENGTHS_H_
#define DATA_TARGET_LENGTHS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace regard {

// Zeros where nothing is known: runs of earlier programs kept nothing.
struct TargetLengths {
  int64_t longest = 0;  // ids of the longest target, its end included
  double ratio = 0;     // the largest one, of a target's ids to its source's
  // Ids of unknown words in all targets.
  std::optional<int64_t> unknown = {};

  // Adds a pair: ids of its source, at least 1, and of its target, ends
  // included, and how many ids of the target are unknown words.
  void Add(int64_t source_ids, int64_t target_ids, int64_t unknown_ids);

  // The form in which a run keeps them, and back.
  std::map<std::string, double> ToNumbers() const;
  static TargetLengths FromNumbers(
      const std::map<std::string, double>& numbers);
};

}  // namespace regard

#endif  // DATA_TARGET_LENGTHS_H_
