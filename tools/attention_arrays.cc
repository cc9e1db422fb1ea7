#include "tools/attention_arrays.h"

#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/config_text.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/safetensors.h"
#include "nlohmann/json.hpp"
#include "nn/name_suggestion.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

using Json = nlohmann::json;

// Says what is wrong with the array of that name.
using Complain =
    std::function<void(const std::string& name, const std::string& problem)>;
using Arrays = std::map<std::string, NumberArray>;

constexpr char kLengths[] = "key_lengths";
const std::vector<std::string>& Names() {
  static const auto* const names =
      new std::vector<std::string>{"queries", "keys", "values", kLengths};
  return *names;
}

std::string UnknownName(const std::string& name) {
  return absl::StrCat("there is no array '", Printable(name), "'",
                      SuggestName(name, Names()));
}

// "keys[0][2]" of element `index`.
std::string ElementName(const std::string& name, const NumberArray& array,
                        int64_t index) {
  std::string place;
  for (size_t axis = array.shape.size(); axis-- > 0;) {
    place = absl::StrCat("[", index % array.shape[axis], "]", place);
    index /= array.shape[axis];
  }
  return name + place;
}

std::string Found(const Json& json) {
  if (json.is_array()) return absl::StrCat("a list of ", json.size());
  return Printable(json.dump(-1, ' ', /*ensure_ascii=*/true,
                             Json::error_handler_t::replace));
}

// Appends the numbers of `json`, which is `place` of its array. False after a
// complaint: a list is not as long as the first one at its depth, or there is
// no number where the first element is one.
bool AppendNumbers(const Json& json, size_t depth, const std::string& place,
                   const std::function<void(const std::string&)>& complain,
                   NumberArray* array) {
  if (depth == array->shape.size()) {
    if (!json.is_number()) {
      complain(absl::StrCat(place, " is ", Found(json), "; a number wanted"));
      return false;
    }
    array->numbers.push_back(json.get<double>());
    return true;
  }
  const auto wanted = static_cast<size_t>(array->shape[depth]);
  if (!json.is_array() || json.size() != wanted) {
    complain(absl::StrCat(place, " is ", Found(json), "; a list of ", wanted,
                          " wanted"));
    return false;
  }
  for (size_t i = 0; i < json.size(); ++i) {
    if (!AppendNumbers(json[i], depth + 1, absl::StrCat(place, "[", i, "]"),
                       complain, array)) {
      return false;
    }
  }
  return true;
}

// The shape is that of the first elements.
NumberArray ArrayOf(const Json& json, const std::string& name,
                    const Complain& complain) {
  NumberArray array;
  for (const Json* first = &json; first->is_array(); first = &first->front()) {
    array.shape.push_back(static_cast<int64_t>(first->size()));
    if (first->empty()) break;
  }
  AppendNumbers(
      json, 0, name,
      [&](const std::string& problem) { complain(name, problem); }, &array);
  return array;
}

// What is wrong with queries, or with other rows beside them; empty: nothing.
std::string ProblemOf(const NumberArray& array, const std::string& name,
                      const NumberArray& queries) {
  const size_t axes = queries.shape.size();
  const std::string found =
      absl::StrCat(name, " has the shape ", ShapeText(array.shape), "; ");
  if (&array == &queries && axes != 2 && axes != 3) {
    return found + "[queries, width] or [batch, queries, width] wanted";
  }
  if (array.shape.size() != axes)
    return found + "as many axes as queries wanted";
  if (array.numbers.empty()) return found + "at least one number wanted";
  if (axes == 3 && array.shape[0] != queries.shape[0]) {
    return absl::StrCat(found, "a batch of ", queries.shape[0],
                        " wanted, as queries has");
  }
  for (size_t i = 0; i < array.numbers.size(); ++i) {
    if (std::isfinite(array.numbers[i])) continue;
    return absl::StrCat(ElementName(name, array, static_cast<int64_t>(i)),
                        " is ", array.numbers[i], "; a finite number wanted");
  }
  return "";
}

// Moves queries, keys and values there, with an axis of the batch.
void CheckRows(const Complain& complain, Arrays& arrays,
               AttentionArrays* result) {
  result->has_batch = arrays["queries"].shape.size() == 3;
  for (const char* name : {"queries", "keys", "values"}) {
    const std::string problem =
        ProblemOf(arrays[name], name, arrays["queries"]);
    if (problem.empty()) continue;
    complain(name, problem);
    return;
  }
  const auto move = [&](const char* name) {
    NumberArray array = std::move(arrays[name]);
    if (!result->has_batch) array.shape.insert(array.shape.begin(), 1);
    return array;
  };
  result->queries = move("queries");
  result->keys = move("keys");
  result->values = move("values");
  if (result->values.shape[1] != result->keys.shape[1]) {
    complain("values", absl::StrCat(result->values.shape[1], " values for ",
                                    result->keys.shape[1],
                                    " keys; one for each key wanted"));
  }
}

void CheckLengths(const Complain& complain, const NumberArray& lengths,
                  AttentionArrays* result) {
  const int64_t batch = result->queries.shape[0];
  const int64_t queries = result->queries.shape[1];
  const int64_t keys = result->keys.shape[1];
  std::vector<int64_t> per_example = {batch};
  std::vector<int64_t> per_query = {batch, queries};
  if (!result->has_batch) {
    per_example.clear();
    per_query = {queries};
  }
  if (lengths.shape != per_example && lengths.shape != per_query) {
    complain(kLengths,
             absl::StrCat("key_lengths has the shape ",
                          ShapeText(lengths.shape), "; ",
                          result->has_batch ? ShapeText(per_example)
                                            : std::string("one number"),
                          " or ", ShapeText(per_query),
                          ", one for each query, "
                          "wanted"));
    return;
  }
  for (size_t i = 0; i < lengths.numbers.size(); ++i) {
    const double length = lengths.numbers[i];
    if (length >= 0 && length <= static_cast<double>(keys) &&
        length == std::floor(length)) {
      result->key_lengths.push_back(static_cast<int32_t>(length));
      continue;
    }
    complain(
        kLengths,
        absl::StrCat(ElementName(kLengths, lengths, static_cast<int64_t>(i)),
                     " is ", length, "; a whole number from 0 to ", keys,
                     ", the number of keys, wanted"));
    return;
  }
}

// What `arrays` hold; after a complaint, anything.
AttentionArrays Checked(const Complain& complain, Arrays arrays) {
  AttentionArrays result;
  bool right = true;
  const Complain note = [&](const std::string& name,
                            const std::string& problem) {
    right = false;
    complain(name, problem);
  };
  CheckRows(note, arrays, &result);
  const auto lengths = arrays.find(kLengths);
  if (right && lengths != arrays.end()) {
    CheckLengths(note, lengths->second, &result);
  }
  return result;
}

absl::StatusOr<AttentionArrays> ArraysOf(JsonFile file) {
  const JsonObject root = file.root();
  const Complain complain = [&](const std::string& name,
                                const std::string& problem) {
    root.Complain(name, problem);
  };
  Arrays arrays;
  for (const auto& [name, value] : root.json().items()) {
    if (absl::c_linear_search(Names(), name)) {
      arrays[name] = ArrayOf(value, name, complain);
    } else {
      complain(name, UnknownName(name));
    }
  }
  for (const char* name : {"queries", "keys", "values"}) root.Require(name);
  REGARD_RETURN_IF_ERROR(file.status());
  AttentionArrays result = Checked(complain, std::move(arrays));
  REGARD_RETURN_IF_ERROR(file.status());
  return result;
}

absl::StatusOr<AttentionArrays> ReadTensors(const std::string& path) {
  absl::StatusOr<SafetensorsReader> file = SafetensorsReader::Open(path);
  if (!file.ok()) return WithErrorPrefix(file.status());
  std::string problems;
  const Complain complain = [&](const std::string&,
                                const std::string& problem) {
    absl::StrAppend(&problems, problems.empty() ? "" : "\n", path,
                    ": error: ", problem);
  };
  Arrays arrays;
  for (const auto& [name, tensor] : file->header().tensors) {
    if (!absl::c_linear_search(Names(), name)) {
      complain(name, UnknownName(name));
      continue;
    }
    absl::StatusOr<std::vector<double>> numbers = file->ReadNumbers(name);
    if (numbers.ok()) {
      arrays[name] = {tensor.shape, *std::move(numbers)};
    } else {
      complain(name, std::string(numbers.status().message()));
    }
  }
  for (const char* name : {"queries", "keys", "values"}) {
    if (!file->header().tensors.contains(name)) {
      complain(name, absl::StrCat(name, " is missing"));
    }
  }
  AttentionArrays result;
  if (problems.empty()) result = Checked(complain, std::move(arrays));
  if (!problems.empty()) return absl::InvalidArgumentError(problems);
  return result;
}

}  // namespace

absl::StatusOr<AttentionArrays> ReadAttentionArrays(const std::string& path) {
  if (absl::EndsWith(path, ".safetensors")) return ReadTensors(path);
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Read(path));
  return ArraysOf(std::move(file));
}

absl::StatusOr<AttentionArrays> ParseAttentionArrays(absl::string_view text,
                                                     absl::string_view name) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(text, name));
  return ArraysOf(std::move(file));
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace regard
