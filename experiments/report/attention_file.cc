#include "experiments/report/attention_file.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace regard {
namespace {

using Json = nlohmann::ordered_json;

// Wants the members of one map; remembers whether any was not as it should be.
class MapReader {
 public:
  explicit MapReader(const Json& json) : json_(json) {}

  bool ok() const { return ok_; }

  LabelledMatrix Read() {
    LabelledMatrix map;
    const Json& title = Member("title");
    if (title.is_string()) {
      map.title = title.get<std::string>();
    } else {
      ok_ = false;
    }
    map.rows = Texts("rows");
    map.columns = Texts("columns");
    for (const Json& head : List(Member("heads"))) {
      map.heads.push_back(Head(head, map));
    }
    for (const Json& gold : List(Member("gold"))) {
      const std::vector<double> cell = Numbers(gold);
      if (cell.size() != 2 || !InRange(cell[0], map.rows.size()) ||
          !InRange(cell[1], map.columns.size())) {
        ok_ = false;
        continue;
      }
      map.gold.push_back(
          {static_cast<int>(cell[0]), static_cast<int>(cell[1])});
    }
    return map;
  }

 private:
  static bool InRange(double number, size_t size) {
    return number >= 0 && number < static_cast<double>(size);
  }

  const Json& Member(const char* key) {
    static const Json kNothing;
    if (json_.is_object() && json_.contains(key)) return json_[key];
    return kNothing;
  }

  const Json& List(const Json& json) {
    static const Json kEmpty = Json::array();
    if (json.is_array()) return json;
    ok_ = false;
    return kEmpty;
  }

  std::vector<std::string> Texts(const char* key) {
    std::vector<std::string> texts;
    for (const Json& text : List(Member(key))) {
      if (text.is_string()) {
        texts.push_back(text.get<std::string>());
      } else {
        ok_ = false;
      }
    }
    return texts;
  }

  std::vector<double> Numbers(const Json& json) {
    std::vector<double> numbers;
    for (const Json& number : List(json)) {
      ok_ = ok_ && (number.is_number() || number.is_null());
      numbers.push_back(number.is_number()
                            ? number.get<double>()
                            : std::numeric_limits<double>::quiet_NaN());
    }
    return numbers;
  }

  std::vector<double> Head(const Json& json, const LabelledMatrix& map) {
    std::vector<double> head;
    for (const Json& row : List(json)) {
      const std::vector<double> numbers = Numbers(row);
      ok_ = ok_ && numbers.size() == map.columns.size();
      head.insert(head.end(), numbers.begin(), numbers.end());
    }
    ok_ = ok_ && head.size() == map.rows.size() * map.columns.size();
    return head;
  }

  const Json& json_;
  bool ok_ = true;
};

std::string Number(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.6g", value) : "null";
}

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A line for each row of a head.
std::string HeadText(const LabelledMatrix& map,
                     const std::vector<double>& head) {
  std::string text = "[";
  const size_t columns = map.columns.size();
  for (size_t r = 0; r < map.rows.size(); ++r) {
    absl::StrAppend(&text, r == 0 ? "\n[" : ",\n[");
    for (size_t c = 0; c < columns; ++c) {
      absl::StrAppend(&text, c == 0 ? "" : ",", Number(head[r * columns + c]));
    }
    absl::StrAppend(&text, "]");
  }
  return absl::StrCat(text, "]");
}

}  // namespace

std::string AttentionJson(absl::Span<const LabelledMatrix> maps) {
  std::string text = "{\"maps\":[";
  for (size_t m = 0; m < maps.size(); ++m) {
    const LabelledMatrix& map = maps[m];
    absl::StrAppend(&text, m == 0 ? "" : ",", "\n{\"title\":", Text(map.title),
                    ",\n\"rows\":", Text(map.rows),
                    ",\n\"columns\":", Text(map.columns), ",\n\"heads\":[");
    for (size_t h = 0; h < map.heads.size(); ++h) {
      absl::StrAppend(&text, h == 0 ? "" : ",", HeadText(map, map.heads[h]));
    }
    absl::StrAppend(&text, "],\n\"gold\":[");
    for (size_t g = 0; g < map.gold.size(); ++g) {
      absl::StrAppend(&text, g == 0 ? "" : ",", "[", map.gold[g].row, ",",
                      map.gold[g].column, "]");
    }
    absl::StrAppend(&text, "]}");
  }
  return absl::StrCat(text, "]}\n");
}

absl::StatusOr<std::vector<LabelledMatrix>> ParseAttentionJson(
    absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  const auto error = [](const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrCat("not an attention file: ", what));
  };
  if (!json.is_object() || !json.contains("maps") || !json["maps"].is_array()) {
    return error("no list \"maps\"");
  }
  std::vector<LabelledMatrix> maps;
  for (const Json& map : json["maps"]) {
    MapReader reader(map);
    maps.push_back(reader.Read());
    if (!reader.ok()) return error(absl::StrCat("map ", maps.size() - 1));
  }
  return maps;
}

}  // namespace regard
