#include "pretrained/image_processor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/images/image_format.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMostSide = 8192;
constexpr double kRescale = 1.0 / 255;
// Of Pillow's filters.
constexpr int64_t kBilinear = 2;
constexpr int64_t kBicubic = 3;

// Two numbers, or one for both: "size" and "crop_size".
struct Size {
  int64_t height = 0;
  int64_t width = 0;
  bool is_shorter_side = false;
};

Size ReadSize(const JsonObject& json, const std::string& key) {
  const auto side = [](const JsonObject& of, const char* name) {
    return of.Integer(name, std::nullopt, 1, kMostSide);
  };
  json.Require(key);
  if (!json.Has(key)) return {};
  if (!json.json()[key].is_object()) {
    const int64_t both = json.Integer(key, std::nullopt, 1, kMostSide);
    return {both, both};
  }
  const auto size = json.Object(key);
  if (!size->Has("shortest_edge")) {
    return {side(*size, "height"), side(*size, "width")};
  }
  const int64_t both = side(*size, "shortest_edge");
  if (size->Has("longest_edge")) {
    size->Complain("longest_edge", "longest_edge is not computed");
  }
  return {both, both, /*is_shorter_side=*/true};
}

void ReadResizing(const JsonObject& json, ImageFormat* format) {
  if (!json.Bool("do_resize", true)) {
    json.Complain("do_resize", "do_resize is false: images are always resized");
  }
  const bool bilinear = format->filter() == ImageFormat::BILINEAR;
  const int64_t filter =
      json.Integer("resample", bilinear ? kBilinear : kBicubic);
  if (filter != kBilinear && filter != kBicubic) {
    json.Complain("resample", absl::StrCat("resample is ", filter,
                                           "; 2 (bilinear) and 3 (bicubic) are "
                                           "computed"));
  }
  format->set_filter(filter == kBicubic ? ImageFormat::BICUBIC
                                        : ImageFormat::BILINEAR);
  const Size size = ReadSize(json, "size");
  const bool crops = json.Bool("do_center_crop", false);
  const Size kept = crops ? ReadSize(json, "crop_size") : size;
  if (kept.height != format->height() || kept.width != format->width()) {
    json.Complain(crops ? "crop_size" : "size",
                  absl::StrCat("images become ", kept.height, " x ", kept.width,
                               ", but the model reads ", format->height(),
                               " x ", format->width()));
  }
  if (size.is_shorter_side) {
    if (!crops) {
      json.Complain("size", "a shortest_edge without do_center_crop");
    } else if (size.height < std::max(kept.height, kept.width)) {
      json.Complain("size", "is less than what is cut out");
    }
    format->set_crop(true);
    if (kept.height != size.height || kept.width != size.width) {
      format->set_shorter_side(static_cast<int>(size.height));
    }
  } else if (kept.height != size.height || kept.width != size.width) {
    json.Complain("crop_size", "cuts a stretched image, which is not computed");
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
    return json.Complain(
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
  if (!json.Bool("do_rescale", true) ||
      std::abs(json.Real("rescale_factor", kRescale) - kRescale) > 1e-9) {
    json.Complain("rescale_factor",
                  "pixels are always rescaled by 1/255: do_rescale and "
                  "rescale_factor must say so");
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
  if (json.Bool("do_pad", false)) {
    json.Complain("do_pad", "do_pad is true: images are not padded");
  }
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
    json.Complain("crop_pct",
                  "crop_pct is below 1, which is computed of squares that are "
                  "cut from the center");
  }
  if (kept < 1) {
    format.set_shorter_side(static_cast<int>(
        std::floor(static_cast<double>(images.height) / kept)));
  }
  return format;
}

absl::StatusOr<ImageFormat> ReadImageProcessor(const std::string& folder,
                                               const ImageFormat& otherwise) {
  ImageFormat format = otherwise;
  const std::string alone = JoinPath(folder, "preprocessor_config.json");
  const std::string path =
      PathExists(alone) ? alone : JoinPath(folder, "processor_config.json");
  if (!PathExists(path)) return format;
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Read(path));
  const JsonObject json = file.root();
  if (path == alone) {
    ReadProcessor(json, &format);
  } else if (const auto part = json.Object("image_processor")) {
    ReadProcessor(*part, &format);
  } else {
    json.Require("image_processor");
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return format;
}

std::string ImageProcessorText(const ImageFormat& format,
                               absl::string_view type) {
  using Json = nlohmann::ordered_json;
  const auto channels = [&](const ChannelValues& values) {
    if (format.grey()) return Json::array({values.red()});
    return Json::array({values.red(), values.green(), values.blue()});
  };
  const Json kept = {{"height", format.height()}, {"width", format.width()}};
  Json json;
  json["image_processor_type"] = type;
  json["do_resize"] = true;
  json["size"] = kept;
  if (format.crop()) {
    const int side = format.shorter_side() > 0
                         ? format.shorter_side()
                         : std::max(format.height(), format.width());
    json["size"] = {{"shortest_edge", side}};
    json["do_center_crop"] = true;
    json["crop_size"] = kept;
  }
  json["resample"] =
      format.filter() == ImageFormat::BILINEAR ? kBilinear : kBicubic;
  json["do_rescale"] = true;
  json["rescale_factor"] = kRescale;
  json["do_normalize"] = true;
  json["image_mean"] = channels(format.mean());
  json["image_std"] = channels(format.deviation());
  return json.dump(2) + "\n";
}

}  // namespace regard
