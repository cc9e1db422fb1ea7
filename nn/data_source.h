// Where examples come from. A source is pure: the same index gives the same
// example, so a run resumes from its step alone.
#ifndef NN_DATA_SOURCE_H_
#define NN_DATA_SOURCE_H_

#include <cstdint>

namespace regard {

template <typename Example>
class DataSource {
 public:
  virtual ~DataSource() = default;

  virtual int64_t size() const = 0;

  // Example `index`, 0 <= index < size(). The reference lives as long as the
  // source.
  virtual const Example& Get(int64_t index) const = 0;
};

}  // namespace regard

#endif  // NN_DATA_SOURCE_H_
