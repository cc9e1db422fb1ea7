#include "tools/attention_inputs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/safetensors.h"
#include "nlohmann/json.hpp"
#include "options/config_text.h"
#include "options/name_suggestion.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

using Json = nlohmann::json;

// Reports a problem with the array `name`.
using AddProblem =
    std::function<void(const std::string& name, const std::string& problem)>;
using Arrays = std::map<std::string, NumberArray>;

constexpr char kLengths[] = "key_lengths";
constexpr char kMask[] = "mask";
const std::vector<std::string>& Names() {
  static const auto* const names = new std::vector<std::string>{
      "queries", "keys", "values", kLengths, kMask};
  return *names;
}

std::string UnknownName(const std::string& name) {
  return absl::StrCat("there is no array '", Printable(name), "'",
                      SuggestName(name, Names()));
}

// Returns the name of element `index`, such as "keys[0][2]".
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
  if (json.is_array()) {
    return absl::StrCat("a list of ", json.size(), " elements");
  }
  return Printable(json.dump(-1, ' ', /*ensure_ascii=*/true,
                             Json::error_handler_t::replace));
}

// Appends the numbers of `json`, which is the element `place` of its array.
// Reports a problem and returns false in two cases: a number is missing, or a
// list has a different length from the first list at its depth.
bool AppendNumbers(const Json& json, size_t depth, const std::string& place,
                   const std::function<void(const std::string&)>& complain,
                   NumberArray* array) {
  if (depth == array->shape.size()) {
    if (!json.is_number()) {
      complain(
          absl::StrCat(place, " is ", Found(json), "; a number is required"));
      return false;
    }
    array->numbers.push_back(json.get<double>());
    return true;
  }
  const auto wanted = static_cast<size_t>(array->shape[depth]);
  if (!json.is_array() || json.size() != wanted) {
    complain(absl::StrCat(place, " is ", Found(json), "; a list of ", wanted,
                          " elements is required"));
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

// Returns the array in `json`. The first element of each list determines the
// shape.
NumberArray ArrayOf(const Json& json, const std::string& name,
                    const AddProblem& complain) {
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

// Returns a problem with an array, or with its combination with the queries.
// Returns "" if there is none.
std::string ProblemOf(const NumberArray& array, const std::string& name,
                      const NumberArray& queries) {
  const size_t axes = queries.shape.size();
  const std::string found =
      absl::StrCat(name, " has the shape ", ShapeText(array.shape), "; ");
  if (&array == &queries && axes != 2 && axes != 3) {
    return found + "[queries, width] or [batch, queries, width] is required";
  }
  if (array.shape.size() != axes) {
    return absl::StrCat(found, axes, " axes are required, as in `queries`");
  }
  if (array.numbers.empty()) return found + "at least one number is required";
  if (axes == 3 && array.shape[0] != queries.shape[0]) {
    return absl::StrCat(found, "the batch size must be ", queries.shape[0],
                        ", as in `queries`");
  }
  for (size_t i = 0; i < array.numbers.size(); ++i) {
    if (std::isfinite(array.numbers[i])) continue;
    return absl::StrCat(ElementName(name, array, static_cast<int64_t>(i)),
                        " is ", array.numbers[i],
                        "; a finite number is required");
  }
  return "";
}

// Moves queries, keys and values to the result, and adds a batch axis.
void CheckRows(const AddProblem& complain, Arrays& arrays,
               AttentionInputs* result) {
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
    complain("values",
             absl::StrCat("values must have one row per key: `keys` has ",
                          result->keys.shape[1], " rows, `values` has ",
                          result->values.shape[1]));
  }
}

// The axes of an array, each with its name and its size.
using Axes = std::vector<std::pair<std::string, int64_t>>;

// Returns a text such as "[batch, keys] = [2, 6]".
std::string AxesText(const Axes& axes) {
  if (axes.empty()) return "one number";
  std::vector<std::string> names;
  std::vector<int64_t> extents;
  for (const auto& [name, extent] : axes) {
    names.push_back(name);
    extents.push_back(extent);
  }
  return absl::StrCat("[", absl::StrJoin(names, ", "),
                      "] = ", ShapeText(extents));
}

// Checks that the shape of `array` is [batch, last...] or [batch, queries,
// last...]. There is no `batch` axis if the queries have none. If the shape is
// wrong, reports a problem and returns false.
bool CheckPerQuery(const AddProblem& complain, const std::string& name,
                   const NumberArray& array, const AttentionInputs& rows,
                   const Axes& last) {
  Axes per_example;
  if (rows.has_batch) per_example = {{"batch", rows.queries.shape[0]}};
  Axes per_query = per_example;
  per_query.emplace_back("queries", rows.queries.shape[1]);
  for (Axes* axes : {&per_example, &per_query}) {
    axes->insert(axes->end(), last.begin(), last.end());
    if (absl::c_equal(array.shape, *axes, [](int64_t extent, const auto& axis) {
          return extent == axis.second;
        })) {
      return true;
    }
  }
  complain(name, absl::StrCat(name, " has the shape ", ShapeText(array.shape),
                              "; it must be ", AxesText(per_example), " or ",
                              AxesText(per_query)));
  return false;
}

void CheckLengths(const AddProblem& complain, const NumberArray& lengths,
                  AttentionInputs* result) {
  if (!CheckPerQuery(complain, kLengths, lengths, *result, {})) return;
  const int64_t keys = result->keys.shape[1];
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
                     ", the number of keys, is required"));
    return;
  }
}

// Checks and stores the mask. It must be 0 for keys beyond the lengths, so
// CheckLengths() must be called first.
void CheckMask(const AddProblem& complain, const NumberArray& mask,
               AttentionInputs* result) {
  const int64_t batch = result->queries.shape[0];
  const int64_t queries = result->queries.shape[1];
  const int64_t keys = result->keys.shape[1];
  if (!CheckPerQuery(complain, kMask, mask, *result, {{"keys", keys}})) return;
  const auto rows = static_cast<int64_t>(mask.numbers.size()) / keys;
  // For each row of the mask, the smallest key length of its queries.
  std::vector<int64_t> lengths(rows, keys);
  const auto given = static_cast<int64_t>(result->key_lengths.size());
  for (int64_t i = 0; given > 0 && i < batch * queries; ++i) {
    int64_t& length = lengths[rows == batch ? i / queries : i];
    length = std::min<int64_t>(
        length, result->key_lengths[given == batch ? i / queries : i]);
  }
  for (int64_t i = 0; i < rows * keys; ++i) {
    const double number = mask.numbers[i];
    std::string problem;
    if (number != 0 && number != 1) {
      problem =
          absl::StrCat(number,
                       "; it must be 1 for a visible key or 0 for a masked "
                       "key");
    } else if (number == 1 && i % keys >= lengths[i / keys]) {
      problem = absl::StrCat("1, but key_lengths is ", lengths[i / keys],
                             " there and masks this key; write 0, or give only "
                             "`mask` or only `key_lengths`");
    }
    if (!problem.empty()) {
      complain(kMask,
               absl::StrCat(ElementName(kMask, mask, i), " is ", problem));
      return;
    }
    result->mask.push_back(number == 1);
  }
}

// Checks the arrays and returns them. After a problem, the result is
// unspecified.
AttentionInputs Checked(const AddProblem& complain, Arrays arrays) {
  AttentionInputs result;
  bool right = true;
  const AddProblem note = [&](const std::string& name,
                              const std::string& problem) {
    right = false;
    complain(name, problem);
  };
  CheckRows(note, arrays, &result);
  const auto lengths = arrays.find(kLengths);
  if (right && lengths != arrays.end()) {
    CheckLengths(note, lengths->second, &result);
  }
  const auto mask = arrays.find(kMask);
  if (right && mask != arrays.end()) CheckMask(note, mask->second, &result);
  return result;
}

absl::StatusOr<AttentionInputs> ArraysOf(JsonFile file) {
  const JsonObject root = file.root();
  const AddProblem complain = [&](const std::string& name,
                                  const std::string& problem) {
    root.AddProblem(name, problem);
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
  AttentionInputs result = Checked(complain, std::move(arrays));
  REGARD_RETURN_IF_ERROR(file.status());
  return result;
}

absl::StatusOr<AttentionInputs> ReadTensors(const std::string& path) {
  absl::StatusOr<SafetensorsReader> file = SafetensorsReader::Open(path);
  if (!file.ok()) return EnsureErrorPrefix(file.status());
  std::string problems;
  const AddProblem complain = [&](const std::string&,
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
      complain(name, absl::StrCat("the array `", name,
                                  "` is required, but is missing"));
    }
  }
  AttentionInputs result;
  if (problems.empty()) result = Checked(complain, std::move(arrays));
  if (!problems.empty()) return absl::InvalidArgumentError(problems);
  return result;
}

}  // namespace

absl::StatusOr<AttentionInputs> ReadAttentionInputs(const std::string& path) {
  if (absl::EndsWith(path, ".safetensors")) return ReadTensors(path);
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Read(path));
  return ArraysOf(std::move(file));
}

absl::StatusOr<AttentionInputs> ParseAttentionInputs(absl::string_view text,
                                                     absl::string_view name) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(text, name));
  return ArraysOf(std::move(file));
}

std::vector<uint8_t> DenseMask(const AttentionInputs& arrays) {
  const int64_t batch = arrays.queries.shape[0];
  const int64_t keys = arrays.keys.shape[1];
  if (static_cast<int64_t>(arrays.mask.size()) != batch * keys) {
    return arrays.mask;
  }
  std::vector<uint8_t> dense;
  for (int64_t example = 0; example < batch; ++example) {
    const auto row = arrays.mask.begin() + example * keys;
    for (int64_t i = 0; i < arrays.queries.shape[1]; ++i) {
      dense.insert(dense.end(), row, row + keys);
    }
  }
  return dense;
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace regard
