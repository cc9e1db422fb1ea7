// Classes that share a name, such as the two classes "crane" of ImageNet.
#ifndef EVALUATION_CLASS_NAMES_H_
#define EVALUATION_CLASS_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// The names of a model's classes. A prediction is right if its class has the
// same name as the right class.
class ClassNames {
 public:
  explicit ClassNames(const std::vector<std::string>& names);

  // Returns the first label that has the same name as `label`.
  int32_t CanonicalLabel(int32_t label) const { return first_[label]; }
  // Returns the first label that has the same name as the class with the
  // largest value in `row`.
  int32_t BestCanonicalLabel(absl::Span<const float> row) const;
  // Returns the cross-entropy of the name of `label`, in nats. The probability
  // of a name is the sum over its classes. `log_probabilities` has one value
  // per class.
  double Loss(absl::Span<const float> log_probabilities, int32_t label) const;

  // A note such as "2 classes are named 'crane'", or "" if all names differ.
  const std::string& note() const { return note_; }

 private:
  std::vector<int32_t> first_;  // indexed by label
  std::string note_;
};

}  // namespace regard

#endif  // EVALUATION_CLASS_NAMES_H_
