// Classes that share a name, such as the two of ImageNet that are a "crane".
#ifndef EVALUATION_CLASS_NAMES_H_
#define EVALUATION_CLASS_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// What a model's classes are called. A prediction is right if its name is.
class ClassNames {
 public:
  explicit ClassNames(const std::vector<std::string>& names);

  // The first label with the name of `label`.
  int32_t First(int32_t label) const { return first_[label]; }
  // The first label with the name of the greatest of `row`, a number for each
  // class.
  int32_t Best(absl::Span<const float> row) const;
  // The cross-entropy of the name of `label`, which has the probabilities of
  // all its classes: `log_probabilities` are of the classes. In nats.
  double Loss(absl::Span<const float> log_probabilities, int32_t label) const;

  // "2 classes are named 'crane'"; empty if each name is of one class.
  const std::string& note() const { return note_; }

 private:
  std::vector<int32_t> first_;  // of each label
  std::string note_;
};

}  // namespace regard

#endif  // EVALUATION_CLASS_NAMES_H_
