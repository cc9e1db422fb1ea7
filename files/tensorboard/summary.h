// What TensorBoard can show, as values of an event.
#ifndef FILES_TENSORBOARD_SUMMARY_H_
#define FILES_TENSORBOARD_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "files/tensorboard/event.pb.h"

namespace regard::tensorboard {

// `description` is Markdown; may be empty.
Summary::Value ScalarValue(absl::string_view tag, float value,
                           absl::string_view description = "");

// How the finite ones of `values` spread over 30 equal buckets between their
// extremes; NaN and the infinities are left out.
Summary::Value HistogramValue(absl::string_view tag,
                              absl::Span<const float> values);

// `rgb` is [height, width, 3], row-major. `description` is Markdown.
Summary::Value ImageValue(absl::string_view tag, absl::string_view description,
                          int height, int width, absl::Span<const uint8_t> rgb);

// Text that Markdown, with its tables and HTML, shows as it is, on one line.
std::string EscapeMarkdown(absl::string_view text);

// `markdown` is shown as such: escape text that is not ours.
Summary::Value TextValue(absl::string_view tag, absl::string_view markdown);

using HParamSetting = std::variant<double, bool, std::string>;

// The run's settings, for the table of hyper-parameters, which shows its
// scalars beside them. Runs of one `group` are averaged there: give the seeds
// of one config the same.
Summary::Value SessionStartValue(
    const std::map<std::string, HParamSetting>& settings,
    absl::string_view group, double start_seconds);

// Says that the run is over; without it the table shows it as running.
Summary::Value SessionEndValue(bool success, double end_seconds);

}  // namespace regard::tensorboard

#endif  // FILES_TENSORBOARD_SUMMARY_H_
