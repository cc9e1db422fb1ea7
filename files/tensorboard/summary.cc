#include "files/tensorboard/summary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "files/tensorboard/png.h"

namespace regard::tensorboard {
namespace {

// The default number of buckets in TensorBoard.
constexpr int kBuckets = 30;

// The left edge, right edge and count of a bucket.
using Bucket = std::array<double, 3>;
using Buckets = std::array<Bucket, kBuckets>;

// Numbers are written as stored in memory.
static_assert(std::endian::native == std::endian::little);

// Returns a tensor without values for a plugin of TensorBoard.
Summary::Value ValueFor(absl::string_view tag, absl::string_view plugin,
                        DataClass data_class, DataType type,
                        std::initializer_list<int64_t> shape) {
  Summary::Value value;
  value.set_tag(std::string(tag));
  SummaryMetadata* const metadata = value.mutable_metadata();
  metadata->mutable_plugin_data()->set_plugin_name(std::string(plugin));
  if (data_class != DATA_CLASS_UNKNOWN) metadata->set_data_class(data_class);
  value.mutable_tensor()->set_dtype(type);
  TensorShapeProto* const sizes =
      value.mutable_tensor()->mutable_tensor_shape();
  for (const int64_t size : shape) sizes->add_dim()->set_size(size);
  return value;
}

Buckets BucketsOf(absl::Span<const float> values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double finite = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min<double>(low, value);
    high = std::max<double>(high, value);
    finite += 1;
  }
  Buckets buckets = {};
  if (finite == 0) return buckets;
  const double width = (high - low) / kBuckets;
  for (int i = 0; i < kBuckets; ++i) {
    buckets[i] = {low + i * width, low + (i + 1) * width, 0.0};
  }
  buckets.back()[1] = high;
  if (width == 0) {
    // All values are equal. TensorBoard expects them in the last bucket.
    buckets.back()[2] = finite;
    return buckets;
  }
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const int index = static_cast<int>((value - low) / width);
    buckets[std::min(index, kBuckets - 1)][2] += 1;
  }
  return buckets;
}

// TensorBoard's plugin for hyperparameters reads only the metadata, but
// requires a tensor. The tensor has no values.
Summary::Value HParamsValue(absl::string_view tag, HParamsPluginData data) {
  data.set_version(0);
  Summary::Value value =
      ValueFor(tag, "hparams", DATA_CLASS_TENSOR, DT_FLOAT, {0});
  value.mutable_metadata()->mutable_plugin_data()->set_content(
      data.SerializeAsString());
  return value;
}

}  // namespace

Summary::Value ScalarValue(absl::string_view tag, float value,
                           absl::string_view description) {
  Summary::Value summary =
      ValueFor(tag, "scalars", DATA_CLASS_UNKNOWN, DT_FLOAT, {});
  if (!description.empty()) {
    summary.mutable_metadata()->set_summary_description(
        std::string(description));
  }
  summary.mutable_tensor()->set_tensor_content(&value, sizeof(value));
  return summary;
}

Summary::Value HistogramValue(absl::string_view tag,
                              absl::Span<const float> values) {
  const Buckets buckets = BucketsOf(values);
  Summary::Value summary =
      ValueFor(tag, "histograms", DATA_CLASS_TENSOR, DT_DOUBLE, {kBuckets, 3});
  summary.mutable_tensor()->set_tensor_content(buckets.data(), sizeof(buckets));
  return summary;
}

Summary::Value ImageValue(absl::string_view tag, absl::string_view description,
                          int height, int width,
                          absl::Span<const uint8_t> rgb) {
  Summary::Value summary =
      ValueFor(tag, "images", DATA_CLASS_BLOB_SEQUENCE, DT_STRING, {3});
  summary.mutable_metadata()->set_summary_description(std::string(description));
  TensorProto* const tensor = summary.mutable_tensor();
  tensor->add_string_val(absl::StrCat(width));
  tensor->add_string_val(absl::StrCat(height));
  tensor->add_string_val(EncodePng(height, width, rgb));
  return summary;
}

std::string EscapeMarkdown(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      escaped.push_back(' ');
    } else if (absl::ascii_ispunct(c)) {
      // Character references are not interpreted as markup.
      absl::StrAppend(&escaped, "&#", static_cast<int>(c), ";");
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

Summary::Value TextValue(absl::string_view tag, absl::string_view markdown) {
  Summary::Value summary =
      ValueFor(tag, "text", DATA_CLASS_TENSOR, DT_STRING, {});
  summary.mutable_tensor()->add_string_val(std::string(markdown));
  return summary;
}

Summary::Value SessionStartValue(
    const std::map<std::string, HParamSetting>& settings,
    absl::string_view group, double start_seconds) {
  HParamsPluginData data;
  SessionStartInfo* const start = data.mutable_session_start_info();
  start->set_group_name(std::string(group));
  start->set_start_time_secs(start_seconds);
  for (const auto& [name, setting] : settings) {
    HParam* const hparam = start->add_hparams();
    hparam->set_key(name);
    HParam::Value* const value = hparam->mutable_value();
    if (const double* number = std::get_if<double>(&setting)) {
      value->set_number_value(*number);
    } else if (const bool* truth = std::get_if<bool>(&setting)) {
      value->set_bool_value(*truth);
    } else {
      value->set_string_value(std::get<std::string>(setting));
    }
  }
  return HParamsValue("_hparams_/session_start_info", std::move(data));
}

Summary::Value SessionEndValue(bool success, double end_seconds) {
  HParamsPluginData data;
  SessionEndInfo* const end = data.mutable_session_end_info();
  end->set_status(success ? STATUS_SUCCESS : STATUS_FAILURE);
  end->set_end_time_secs(end_seconds);
  return HParamsValue("_hparams_/session_end_info", std::move(data));
}

}  // namespace regard::tensorboard
