#include "nn/testing/fixture.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

Fixture::Fixture(const std::string& name, const std::string& folder) {
  const std::string path = folder + "/" + name + ".txt";
  std::ifstream file(path);
  REGARD_CHECK(file.good()) << "cannot read " << path;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string array_name;
    int rank = 0;
    fields >> array_name >> rank;
    REGARD_CHECK(fields && rank >= 0 && rank <= Shape::kMaxRank)
        << path << ": " << array_name;
    std::vector<int64_t> extents(rank);
    for (int64_t& extent : extents) fields >> extent;
    Array array;
    array.shape = Shape(absl::MakeConstSpan(extents));
    array.values.resize(array.shape.size());
    for (double& value : array.values) fields >> value;
    REGARD_CHECK(fields && (fields >> std::ws).eof())
        << path << ": " << array_name;
    arrays_[array_name] = array;
  }
}

const Fixture::Array& Fixture::operator[](const std::string& name) const {
  const auto found = arrays_.find(name);
  REGARD_CHECK(found != arrays_.end()) << "no array " << name;
  return found->second;
}

std::vector<float> Fixture::Floats(const std::string& name) const {
  const std::vector<double>& values = (*this)[name].values;
  return {values.begin(), values.end()};
}

std::vector<int32_t> Fixture::Integers(const std::string& name) const {
  std::vector<int32_t> integers;
  for (const double value : (*this)[name].values) {
    integers.push_back(static_cast<int32_t>(value));
  }
  return integers;
}

}  // namespace regard
