#include "pretrained/image_processor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/images/image_format.pb.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kPreprocessor[] = "preprocessor_config.json";
constexpr char kProcessor[] = "processor_config.json";
constexpr int64_t kMaxSide = 8192;
constexpr double kRescale = 1.0 / 255;
// Pillow's numbers for its resampling filters.
constexpr int64_t kBilinear = 2;
constexpr int64_t kBicubic = 3;

void Require(const JsonObject& json, const std::string& key, bool wanted) {
  if (json.Bool(key, wanted) == wanted) return;
  json.AddProblem(key, absl::StrCat(key, " must be ", wanted ? "true" : "false",
                                    ": Regard supports nothing else"));
}

void CheckSide(const JsonObject& json, const std::string& key, int64_t side) {
  if (json.Integer(key, side) == side) return;
  json.AddProblem(key, absl::StrCat(key, " must be ", side,
                                    ", the image_size of config.json"));
}

// Checks "size" or "crop_size": height and width, or one number for both.
void CheckSize(const JsonObject& json, const std::string& key,
               const ImageFormat& format) {
  if (!json.Has(key)) return;
  if (!json.json()[key].is_object()) {
    CheckSide(json, key, format.height());
    return CheckSide(json, key, format.width());
  }
  const auto size = json.Object(key);
  CheckSide(*size, "height", format.height());
  CheckSide(*size, "width", format.width());
}

// Returns the shorter side of an image after resizing, or `nullopt` if images
// are stretched. If "size" is a single number, the class of the processor
// determines what it means.
std::optional<int64_t> ReadShorterSide(const JsonObject& json,
                                       absl::string_view type, bool crops) {
  if (!json.Has("size")) return std::nullopt;
  const nlohmann::json& value = json.json()["size"];
  if (value.is_number()) {
    const auto is = [&](absl::string_view name) {
      return absl::StartsWith(type, name);
    };
    if (is("CLIP")) return json.Integer("size", {}, 1, kMaxSide);
    // If the file names no class, transformers uses the default class of the
    // model.
    if (crops && !type.empty() && !is("ViT") && !is("Blip") && !is("DeiT") &&
        !is("Beit")) {
      json.AddProblem("size",
                      "size must have height and width, or shortest_edge: with "
                      "do_center_crop, this image_processor_type may read one "
                      "number as the shorter side");
    }
    return std::nullopt;
  }
  if (!value.contains("shortest_edge")) return std::nullopt;
  const auto size = json.Object("size");
  if (size->Has("longest_edge")) {
    size->AddProblem(
        "longest_edge",
        "longest_edge must not be set: only shortest_edge is supported");
  }
  return size->Integer("shortest_edge", {}, 1, kMaxSide);
}

void ReadResizing(const JsonObject& json, ImageFormat* format) {
  Require(json, "do_resize", true);
  Require(json, "do_pad", false);
  const int64_t filter = json.Integer(
      "resample",
      format->filter() == ImageFormat::BILINEAR ? kBilinear : kBicubic);
  if (filter != kBilinear && filter != kBicubic) {
    json.AddProblem("resample", "resample must be 2 (bilinear) or 3 (bicubic)");
  }
  format->set_filter(filter == kBilinear ? ImageFormat::BILINEAR
                                         : ImageFormat::BICUBIC);
  std::string type;
  for (const char* key : {"feature_extractor_type", "image_processor_type"}) {
    if (json.Has(key)) type = json.Text(key);
  }
  const bool crops =
      json.Bool("do_center_crop", absl::StartsWith(type, "CLIP"));
  if (crops) {
    json.Require("crop_size");
    CheckSize(json, "crop_size", *format);
  }
  const std::optional<int64_t> side = ReadShorterSide(json, type, crops);
  if (!side.has_value()) return CheckSize(json, "size", *format);
  if (!crops) {
    json.AddProblem("size", "size.shortest_edge requires do_center_crop: true");
  } else if (*side < std::max(format->height(), format->width())) {
    json.AddProblem("size",
                    absl::StrCat("size must be at least ",
                                 std::max(format->height(), format->width()),
                                 ", the larger side of crop_size"));
  }
  format->set_crop(true);
  if (*side != format->height() || *side != format->width()) {
    format->set_shorter_side(static_cast<int>(*side));
  }
}

void ReadChannels(const JsonObject& json, const std::string& key, double least,
                  ChannelValues* channels) {
  const nlohmann::json& value = json.Array(key);
  std::vector<double> numbers;
  for (const nlohmann::json& each : value) {
    if (each.is_number()) numbers.push_back(each.get<double>());
  }
  const bool one = numbers.size() == 1;
  if ((!one && numbers.size() != 3) || numbers.size() != value.size() ||
      !std::ranges::all_of(numbers,
                           [&](double x) { return x >= least && x <= 1; })) {
    return json.AddProblem(
        key, absl::StrCat(key, " must be one number for each channel, from ",
                          least, " to 1"));
  }
  channels->set_red(numbers[0]);
  channels->set_green(numbers[one ? 0 : 1]);
  channels->set_blue(numbers[one ? 0 : 2]);
}

void SetAll(double value, ChannelValues* channels) {
  channels->set_red(value);
  channels->set_green(value);
  channels->set_blue(value);
}

void ReadNormalization(const JsonObject& json, ImageFormat* format) {
  Require(json, "do_rescale", true);
  if (std::abs(json.Real("rescale_factor", kRescale) - kRescale) > 1e-9) {
    json.AddProblem("rescale_factor", "rescale_factor must be 1/255");
  }
  if (json.Bool("do_normalize", true)) {
    if (json.Has("image_mean")) {
      ReadChannels(json, "image_mean", 0, format->mutable_mean());
    }
    if (json.Has("image_std")) {
      ReadChannels(json, "image_std", 1e-6, format->mutable_deviation());
    }
    return;
  }
  SetAll(0, format->mutable_mean());
  SetAll(1, format->mutable_deviation());
}

void ReadProcessor(const JsonObject& json, ImageFormat* format) {
  ReadResizing(json, format);
  ReadNormalization(json, format);
}

}  // namespace

ImageFormat ReadTimmFormat(const JsonObject& json, const ImageShape& images) {
  ImageFormat format;
  format.set_height(static_cast<int>(images.height));
  format.set_width(static_cast<int>(images.width));
  format.set_grey(images.channels == 1);
  const size_t filter = json.Choice("interpolation", {"bilinear", "bicubic"});
  format.set_filter(filter == 0 ? ImageFormat::BILINEAR : ImageFormat::BICUBIC);
  ReadChannels(json, "mean", 0, format.mutable_mean());
  ReadChannels(json, "std", 1e-6, format.mutable_deviation());
  json.Require("crop_pct");
  const double kept = json.Real("crop_pct", 1, 0.1, 1);
  const bool square = images.height == images.width;
  format.set_crop(json.Choice("crop_mode", {"center", "squash"}, 0) == 0);
  if (kept < 1 && (!format.crop() || !square)) {
    json.AddProblem("crop_pct",
                    "crop_pct below 1 requires square images that are cropped "
                    "from the center");
  }
  if (kept < 1) {
    format.set_shorter_side(static_cast<int>(
        std::floor(static_cast<double>(images.height) / kept)));
  }
  return format;
}

bool HasImageProcessor(const std::string& folder) {
  return PathExists(JoinPath(folder, kPreprocessor)) ||
         PathExists(JoinPath(folder, kProcessor));
}

absl::StatusOr<ImageFormat> ReadImageProcessor(const std::string& folder,
                                               const ImageFormat& otherwise) {
  if (!HasImageProcessor(folder)) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": error: must contain ", kPreprocessor, " or ",
                     kProcessor, " to say how images are read"));
  }
  ImageFormat format = otherwise;
  const bool alone = PathExists(JoinPath(folder, kPreprocessor));
  REGARD_ASSIGN_OR_RETURN(
      JsonFile file,
      JsonFile::Read(JoinPath(folder, alone ? kPreprocessor : kProcessor)));
  const JsonObject json = file.root();
  if (alone) {
    ReadProcessor(json, &format);
  } else if (const auto part = json.Object("image_processor")) {
    ReadProcessor(*part, &format);
  } else {
    json.Require("image_processor");
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return format;
}

absl::Status WriteImageProcessor(const ImageFormat& format,
                                 const std::string& type,
                                 const std::string& folder,
                                 FileOperations& files) {
  using Json = nlohmann::ordered_json;
  const auto channels = [&](const ChannelValues& values) {
    if (format.grey()) return Json::array({values.red()});
    return Json::array({values.red(), values.green(), values.blue()});
  };
  const Json kept = {{"height", format.height()}, {"width", format.width()}};
  Json json;
  json["image_processor_type"] = type;
  json["do_convert_rgb"] = !format.grey();
  json["do_resize"] = true;
  json["size"] = kept;
  json["do_center_crop"] = format.crop();
  if (format.crop()) {
    const int side = format.shorter_side() > 0
                         ? format.shorter_side()
                         : std::max(format.height(), format.width());
    json["size"] = {{"shortest_edge", side}};
    json["crop_size"] = kept;
  }
  json["resample"] =
      format.filter() == ImageFormat::BILINEAR ? kBilinear : kBicubic;
  json["do_rescale"] = true;
  json["rescale_factor"] = kRescale;
  json["do_normalize"] = true;
  json["image_mean"] = channels(format.mean());
  json["image_std"] = channels(format.deviation());
  return WriteFileAtomically(JoinPath(folder, kPreprocessor),
                             json.dump(2) + "\n", files);
}

}  // namespace regard
