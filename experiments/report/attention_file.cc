#include "experiments/report/attention_file.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/json_file.h"
#include "files/number_text.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::json;

// Appends one row of the weights of a head. Returns false if the row does not
// consist of `columns` weights.
bool AddRow(const Json& row, size_t columns, std::vector<double>& head) {
  if (!row.is_array() || row.size() != columns) return false;
  for (const Json& weight : row) {
    if (!weight.is_number() && !weight.is_null()) return false;
    head.push_back(weight.is_null() ? std::nan("") : weight.get<double>());
  }
  return true;
}

LabelledMatrix ReadMap(const JsonObject& json) {
  LabelledMatrix map = {.title = json.Text("title"),
                        .rows = json.TextList("rows"),
                        .columns = json.TextList("columns")};
  if (json.Has("site")) map.site = json.Text("site");
  for (const Json& rows : json.Array("heads")) {
    std::vector<double>& head = map.heads.emplace_back();
    bool fits = rows.is_array() && rows.size() == map.rows.size();
    for (const Json& row : rows) {
      fits = fits && AddRow(row, map.columns.size(), head);
    }
    if (!fits) {
      json.AddProblem("heads", "each head must have a weight for each cell");
      break;
    }
  }
  for (const Json& cell : json.Array("gold")) {
    const bool fits = cell.is_array() && cell.size() == 2 &&
                      cell[0].is_number_unsigned() &&
                      cell[1].is_number_unsigned() &&
                      cell[0] < map.rows.size() && cell[1] < map.columns.size();
    if (!fits) {
      json.AddProblem("gold", "each gold cell must be a row and a column");
      break;
    }
    map.gold.push_back({cell[0].get<int>(), cell[1].get<int>()});
  }
  return map;
}

// Returns the weights of a head, one line per row.
std::string HeadText(const LabelledMatrix& map, absl::Span<const double> head) {
  const auto append = [](std::string* text, double value) {
    absl::StrAppend(text, std::isfinite(value)
                              ? NumberText(static_cast<float>(value))
                              : "null");
  };
  std::string text;
  const size_t columns = map.columns.size();
  for (size_t r = 0; r < map.rows.size(); ++r) {
    absl::StrAppend(
        &text, r == 0 ? "\n[" : ",\n[",
        absl::StrJoin(head.subspan(r * columns, columns), ",", append), "]");
  }
  return absl::StrCat("[", text, "]");
}

std::string MapText(const LabelledMatrix& map) {
  nlohmann::ordered_json gold = nlohmann::ordered_json::array();
  for (const CellRectangle& cell : map.gold) {
    gold.push_back({cell.row, cell.column});
  }
  const auto append = [&](std::string* text, const std::vector<double>& head) {
    absl::StrAppend(text, HeadText(map, head));
  };
  const std::string site =
      map.site.empty() ? "" : absl::StrCat(",\n\"site\":", JsonText(map.site));
  return absl::StrCat("\n{\"title\":", JsonText(map.title), site,
                      ",\n\"rows\":", JsonText(map.rows),
                      ",\n\"columns\":", JsonText(map.columns),
                      ",\n\"heads\":[", absl::StrJoin(map.heads, ",", append),
                      "],\n\"gold\":", JsonText(gold), "}");
}

}  // namespace

std::string AttentionJson(absl::Span<const LabelledMatrix> maps) {
  const auto append = [](std::string* text, const LabelledMatrix& map) {
    absl::StrAppend(text, MapText(map));
  };
  return absl::StrCat("{\"maps\":[", absl::StrJoin(maps, ",", append), "]}\n");
}

absl::StatusOr<std::vector<LabelledMatrix>> ParseAttentionJson(
    absl::string_view text) {
  // Does not limit the number of values, because Regard wrote the file, and a
  // long text with many layers has many weights.
  REGARD_ASSIGN_OR_RETURN(JsonFile file,
                          JsonFile::Parse(text, "attention.json", /*line=*/1,
                                          /*most_values=*/text.size()));
  std::vector<LabelledMatrix> maps;
  for (const JsonObject& map : file.root().Objects("maps")) {
    maps.push_back(ReadMap(map));
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return maps;
}

}  // namespace regard
