#include "experiments/report/attention_file.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"

namespace regard {
namespace {

using Json = nlohmann::json;

constexpr char kShape[] =
    R"({"maps": [{"title": "", "rows": [""], "columns": [""],
                  "heads": [[[0.5]]], "gold": [[0]]}]})";

// The parts of a map of that shape; nothing if they do not fit together.
std::optional<LabelledMatrix> ReadMap(const Json& json) {
  LabelledMatrix map = {
      .title = json["title"].get<std::string>(),
      .rows = json["rows"].get<std::vector<std::string>>(),
      .columns = json["columns"].get<std::vector<std::string>>()};
  for (const Json& rows : json["heads"]) {
    std::vector<double>& head = map.heads.emplace_back();
    bool fits = rows.size() == map.rows.size();
    for (const Json& row : rows) {
      fits = fits && row.size() == map.columns.size();
      for (const Json& weight : row) {
        head.push_back(weight.is_null() ? std::nan("") : weight.get<double>());
      }
    }
    if (!fits) return std::nullopt;
  }
  for (const Json& cell : json["gold"]) {
    if (cell.size() != 2 || cell[0] >= map.rows.size() ||
        cell[1] >= map.columns.size()) {
      return std::nullopt;
    }
    map.gold.push_back({cell[0].get<int>(), cell[1].get<int>()});
  }
  return map;
}

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A line for each row of a head.
std::string HeadText(const LabelledMatrix& map, absl::Span<const double> head) {
  const auto append = [](std::string* text, double value) {
    absl::StrAppend(
        text, std::isfinite(value) ? absl::StrFormat("%.6g", value) : "null");
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
  Json gold = Json::array();
  for (const Cell& cell : map.gold) gold.push_back({cell.row, cell.column});
  const auto append = [&](std::string* text, const std::vector<double>& head) {
    absl::StrAppend(text, HeadText(map, head));
  };
  return absl::StrCat(
      "\n{\"title\":", Text(map.title), ",\n\"rows\":", Text(map.rows),
      ",\n\"columns\":", Text(map.columns), ",\n\"heads\":[",
      absl::StrJoin(map.heads, ",", append), "],\n\"gold\":", Text(gold), "}");
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
  const Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  const auto error = [](absl::string_view place) {
    return absl::InvalidArgumentError(
        absl::StrCat("not an attention file: see \"", place, "\""));
  };
  const std::optional<std::string> misfit =
      FindMisfit(json, Json::parse(kShape));
  if (misfit.has_value()) return error(*misfit);
  std::vector<LabelledMatrix> maps;
  for (const Json& entry : json["maps"]) {
    std::optional<LabelledMatrix> map = ReadMap(entry);
    if (!map.has_value()) return error(absl::StrCat("/maps/", maps.size()));
    maps.push_back(*std::move(map));
  }
  return maps;
}

}  // namespace regard
