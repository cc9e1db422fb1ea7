#include "attention/position_encoding.h"

namespace regard {

PositionEncodingRegistry::PositionEncodingRegistry()
    : OptionRegistry(
          PositionEncodingConfig::descriptor()->FindOneofByName("encoding"),
          "rotary {}") {}

template <>
std::unique_ptr<PositionEncoding<float>> PositionEncodingRegistry::Create(
    const PositionEncodingConfig& config, ParameterScope<float> scope,
    const ScoreWidths& widths) const {
  return CreateBy(&PositionEncodingInfo::create_float, config, scope, widths);
}

template <>
std::unique_ptr<PositionEncoding<double>> PositionEncodingRegistry::Create(
    const PositionEncodingConfig& config, ParameterScope<double> scope,
    const ScoreWidths& widths) const {
  return CreateBy(&PositionEncodingInfo::create_double, config, scope, widths);
}

}  // namespace regard
