#include "data/table_source.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "autodiff/random.h"
#include "data/column_scale.h"
#include "data/data_source.h"
#include "data/table.pb.h"
#include "data/text/prepared_text.h"
#include "data/text_file.h"
#include "files/file.h"
#include "files/number_text.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

char SeparatorOf(const TableConfig& options) {
  return options.separator() == "tab" ? '\t' : options.separator()[0];
}

struct Field {
  std::string text;
  size_t offset;  // offset in the line
};

// Returns the fields of the current line of `file`, as in RFC 4180. Blanks
// around a field are removed. Quotes must not contain line breaks.
absl::StatusOr<std::vector<Field>> FieldsOf(const TextFile& file,
                                            char separator) {
  const absl::string_view line = file.text();
  const auto is_blank = [&](size_t at) {
    return at < line.size() && line[at] != separator &&
           absl::ascii_isblank(line[at]);
  };
  std::vector<Field> fields;
  for (size_t at = 0;; ++at) {
    while (is_blank(at)) ++at;
    Field field = {"", at};
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size()) {
          return file.Error(
              field.offset,
              "the quote is not closed; add \" at the end of the field");
        }
        if (line[at] == '"') {
          if (line.substr(at + 1, 1) != "\"") break;
          ++at;
        }
        field.text.push_back(line[at]);
      }
      ++at;
      while (is_blank(at)) ++at;
      if (at < line.size() && line[at] != separator) {
        return file.Error(at,
                          "expected a separator or the end of the line after a "
                          "closing quote");
      }
    } else {
      const size_t end = std::min(line.find(separator, at), line.size());
      field.text = std::string(
          absl::StripTrailingAsciiWhitespace(line.substr(at, end - at)));
      at = end;
    }
    fields.push_back(std::move(field));
    if (at >= line.size()) return fields;
  }
}

bool IsNumber(const Field& field) {
  double number;
  return absl::SimpleAtod(field.text, &number);
}

absl::StatusOr<double> NumberOf(const TextFile& file, const Field& field,
                                const std::string& column) {
  const auto error = [&](const auto&... parts) {
    return file.Error(field.offset,
                      absl::StrCat("column '", column, "' ", parts...));
  };
  if (field.text.empty()) return error("must be a number, but is empty");
  double number;
  if (!absl::SimpleAtod(field.text, &number)) {
    return error("must be a number, got '", field.text, "'");
  }
  // Models compute in float, so the number must be finite as a float.
  if (!(std::abs(number) <= std::numeric_limits<float>::max())) {
    return error("must be a finite number, got ", field.text);
  }
  return number;
}

// Returns the index of the column `name`, which is the value of `option`.
absl::StatusOr<size_t> Find(const std::vector<std::string>& names,
                            absl::string_view name, const char* option,
                            const TextFile& file) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return file.Error(
        0,
        absl::StrCat("there is no column '", name, "' for data.table.", option,
                     "; the columns are ", absl::StrJoin(names, ", ")));
  }
  if (std::find(found + 1, names.end(), name) != names.end()) {
    return file.Error(0, absl::StrCat("two columns are named '", name,
                                      "'; rename one of them"));
  }
  return static_cast<size_t>(found - names.begin());
}

// The columns of the points, by their indices in the file.
struct Columns {
  std::vector<std::string> names;  // all names in the file
  std::vector<size_t> x;
  size_t y = 0;
};

// Selects the columns. `fields` are the fields of the first line.
absl::StatusOr<Columns> ColumnsOf(const TextFile& file,
                                  const TableConfig& options,
                                  const std::vector<Field>& fields,
                                  bool is_header) {
  Columns columns;
  for (size_t i = 0; i < fields.size(); ++i) {
    columns.names.push_back(is_header ? fields[i].text : absl::StrCat(i + 1));
  }
  columns.y = fields.size() - 1;
  if (!options.target().empty()) {
    REGARD_ASSIGN_OR_RETURN(
        columns.y, Find(columns.names, options.target(), "target", file));
  }
  if (!options.columns().empty()) {
    for (const absl::string_view name :
         absl::StrSplit(options.columns(), ',')) {
      REGARD_ASSIGN_OR_RETURN(
          const size_t column,
          Find(columns.names, absl::StripAsciiWhitespace(name), "columns",
               file));
      if (column == columns.y) {
        return file.Error(
            fields[column].offset,
            absl::StrCat(
                "column '", columns.names[column],
                "' is the target and must not be in data.table.columns"));
      }
      columns.x.push_back(column);
    }
    return columns;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i == columns.y) continue;
    if (columns.names[i].empty()) {
      return file.Error(fields[i].offset,
                        "the column has no name; if it only numbers the rows, "
                        "list the other columns in data.table.columns");
    }
    columns.x.push_back(i);
  }
  if (columns.x.empty()) {
    return file.Error(
        0,
        absl::StrCat("found one column; at least two columns, separated by '",
                     options.separator(), "', are required"));
  }
  return columns;
}

// Returns the points of `all` whose indices are in `rows`.
Points Take(const Points& all, std::vector<size_t> rows) {
  std::sort(rows.begin(), rows.end());
  if (all.width == 1) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](size_t a, size_t b) { return all.x[a] < all.x[b]; });
  }
  const auto width = static_cast<size_t>(all.width);
  Points points = {.x = {}, .y = {}, .width = all.width};
  for (const size_t row : rows) {
    const auto x = all.x.begin() + static_cast<int64_t>(row * width);
    points.x.insert(points.x.end(), x, x + all.width);
    points.y.push_back(all.y[row]);
  }
  return points;
}

// Returns column `column` of a row-major matrix with `width` columns.
std::vector<double> ColumnOf(const std::vector<double>& rows, size_t width,
                             size_t column) {
  std::vector<double> values;
  for (size_t i = column; i < rows.size(); i += width) {
    values.push_back(rows[i]);
  }
  return values;
}

// Returns the mean and standard deviation of at least one value. If all values
// are equal, the standard deviation is set to 1.
ColumnScale ScaleOf(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  if (least == most) return {.mean = least};
  const auto count = static_cast<double>(values.size());
  ColumnScale scale;
  for (const double value : values) scale.mean += value / count;
  double variance = 0;
  for (const double value : values) {
    const double difference = value - scale.mean;
    variance += difference * difference / count;
  }
  if (variance > 0) scale.deviation = std::sqrt(variance);
  return scale;
}

// Standardizes the sorted `values` with `scale`, and returns the number of
// different floats.
size_t CountDifferent(const std::vector<double>& values,
                      const ColumnScale& scale) {
  size_t count = 0;
  float last = 0;
  for (const double value : values) {
    const auto number = static_cast<float>(scale.Standardize(value));
    if (count == 0 || number != last) ++count;
    last = number;
  }
  return count;
}

// Returns a note if different values of a column become equal in the model, or
// "".
std::string NoteOn(const std::string& column, std::vector<double> values,
                   const ColumnScale& scale, const ColumnScale& standardized) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const size_t different = CountDifferent(values, scale);
  if (different == values.size()) return "";
  std::string note = absl::StrCat("column '", column, "': ", values.size(),
                                  " different values become only ", different,
                                  " in float32, the precision of the model");
  if (const size_t then = CountDifferent(values, standardized);
      then > different) {
    absl::StrAppend(&note, "; with data.table.standardize=true, ", then,
                    " stay different");
  }
  return note;
}

class TableSource
    : public WithOptions<DataSource<RegressionData>, TableConfig> {
 public:
  using WithOptions::WithOptions;
  static constexpr DataPathRequirement kPath = DataPathRequirement::kRequired;

  static void Validate(const Options& options, ConfigProblems& problems) {
    ValidateRangesAndFractions(options, problems);
    if (options.separator().size() != 1 && options.separator() != "tab") {
      problems.Add("separator", "must be one character or \"tab\"");
    }
  }

  absl::StatusOr<RegressionData> Load(
      const DataRequest& request) const override {
    return ReadTable(ResolveUserPath(request.path), options_, request.seed);
  }
};

}  // namespace

absl::StatusOr<RegressionData> ReadTable(const std::string& path,
                                         const TableConfig& options,
                                         uint64_t seed) {
  REGARD_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(path, "table"));
  const char separator = SeparatorOf(options);
  Columns columns;
  Points all;
  int64_t bytes = 0;
  while (true) {
    REGARD_ASSIGN_OR_RETURN(const bool more, file.Next());
    if (!more) break;
    bytes += std::ssize(file.text()) + 1;
    if (bytes > kMaxTableBytes)
      return file.Error(0,
                        "the file is larger than 512 MiB, the limit for a "
                        "table; remove rows or columns");
    if (IsBlankLine(file.text(), /*text_version=*/1)) continue;
    REGARD_ASSIGN_OR_RETURN(const std::vector<Field> fields,
                            FieldsOf(file, separator));
    if (columns.names.empty()) {
      const bool is_header =
          std::none_of(fields.begin(), fields.end(), IsNumber);
      REGARD_ASSIGN_OR_RETURN(columns,
                              ColumnsOf(file, options, fields, is_header));
      all.width = static_cast<int64_t>(columns.x.size());
      if (all.width > kMaxTableColumns) {
        return file.Error(
            0,
            absl::StrCat("has ", all.width, " input columns; at most ",
                         kMaxTableColumns,
                         " are allowed: select some with data.table.columns"));
      }
      if (is_header) continue;
    }
    if (fields.size() != columns.names.size()) {
      const size_t at = fields.size() < columns.names.size()
                            ? file.text().size()
                            : fields[columns.names.size()].offset;
      return file.Error(at, absl::StrCat("expected ", columns.names.size(),
                                         " fields, as in the first line; got ",
                                         fields.size()));
    }
    for (const size_t column : columns.x) {
      REGARD_ASSIGN_OR_RETURN(
          const double number,
          NumberOf(file, fields[column], columns.names[column]));
      all.x.push_back(number);
    }
    REGARD_ASSIGN_OR_RETURN(
        const double number,
        NumberOf(file, fields[columns.y], columns.names[columns.y]));
    all.y.push_back(number);
    if (all.size() > kMaxTableRows) {
      return file.Error(
          0, absl::StrCat("more than ", kMaxTableRows,
                          " rows, the limit for a table; remove rows"));
    }
  }

  std::vector<size_t> order(all.y.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (options.shuffle()) {
    const RandomStream random(seed, "data/table");
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(random.BitsAt(a), a) < std::pair(random.BitsAt(b), b);
    });
  }
  const auto begin_of = [&](double share) {
    return static_cast<int64_t>(
        std::llround((1 - share) * static_cast<double>(all.size())));
  };
  const auto test = order.begin() + begin_of(options.test_fraction());
  const auto dev = order.begin() +
                   begin_of(options.dev_fraction() + options.test_fraction());
  if (dev - order.begin() < 2) {
    return file.Error(
        0, absl::StrCat("the file has ", all.size(), " points, ",
                        dev - order.begin(),
                        " of them for training; training requires at least 2"));
  }
  RegressionData data;
  data.training = Take(all, {order.begin(), dev});
  data.dev = Take(all, {dev, test});
  data.test = Take(all, {test, order.end()});
  data.x_names.clear();
  for (const size_t column : columns.x) {
    data.x_names.push_back(columns.names[column]);
  }
  data.y_name = columns.names[columns.y];
  const auto finish = [&](const std::string& name, std::vector<double> values,
                          const std::vector<double>& training) {
    const ColumnScale standardized = ScaleOf(training);
    const ColumnScale scale =
        options.standardize() ? standardized : ColumnScale();
    const std::string note =
        NoteOn(name, std::move(values), scale, standardized);
    if (!note.empty()) data.notes.push_back(absl::StrCat(path, ": ", note));
    return scale;
  };
  const size_t width = columns.x.size();
  for (size_t i = 0; i < width; ++i) {
    data.x_scales.push_back(finish(data.x_names[i], ColumnOf(all.x, width, i),
                                   ColumnOf(data.training.x, width, i)));
  }
  data.y_scale = finish(data.y_name, std::move(all.y), data.training.y);
  // Squared errors are computed in float and must not overflow or underflow.
  if (std::abs(std::log10(data.y_scale.deviation)) > 15) {
    return file.Error(
        0, absl::StrCat("column '", data.y_name, "' has standard deviation ",
                        NumberText(data.y_scale.deviation),
                        "; data.table.standardize requires a standard "
                        "deviation from 1e-15 to 1e+15"));
  }
  if (!options.standardize()) data.x_scales.clear();
  REGARD_ASSIGN_OR_RETURN(data.digests["data.path"], file.Digest());
  return data;
}

REGARD_DATA_SOURCES(TableSource) {
  sources.Add<TableSource>("points from a CSV file");
}

}  // namespace regard
