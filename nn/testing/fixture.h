// Named arrays that tools/parity/write_fixtures.py has written, for tests.
#ifndef NN_TESTING_FIXTURE_H_
#define NN_TESTING_FIXTURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodiff/shape.h"

namespace regard {

class Fixture {
 public:
  struct Array {
    Shape shape;
    std::vector<double> values;
  };

  // Reads <folder>/<name>.txt. Fails a check if the file is missing or
  // malformed.
  Fixture(const std::string& name, const std::string& folder);

  const Array& operator[](const std::string& name) const;
  std::vector<float> Floats(const std::string& name) const;
  std::vector<int32_t> Integers(const std::string& name) const;

 private:
  std::map<std::string, Array> arrays_;
};

}  // namespace regard

#endif  // NN_TESTING_FIXTURE_H_
