// Latent keys and values of multi-head attention ("multi-head latent
// attention", DeepSeek-AI, "DeepSeek-V2", 2024, arXiv 2405.04434, section 2.1).
//
//   c_j = norm(W x_j)                       latent of `rank` numbers
//   r_j = rotary(R x_j, j)                  rotary_width numbers
//   k_j = [K_h c_j; r_j]                    key of head h
//   v_j = V_h c_j                           value of head h
//   q_i = [Q_h x_i; rotary(P_h x_i, i)]     query of head h
//
// All heads share c and r. A decoder only caches c and r for each position. The
// layer has two forms, which compute the same function:
//
//   materialized: attends to k and v.
//   absorbed: q . k = [K_h^T Q_h x_i; rotary(P_h x_i, i)] . [c_j; r_j], and
//       sum_j w_j v_j = V_h sum_j w_j c_j. The heads share one key, [c; r],
//       and one value, c, so neither k nor v is ever in memory.
//
// The score of the absorbed form is an InnerForm, so the blocked kernel can
// compute it.
//
// The layer is plain multi-head attention under these conditions:
//
//   * `rank` is the width of the input.
//   * latent.weight is the identity.
//   * `norm` and `bias` are false.
//   * There is no rotary part.
//
// Outputs of the materialized form, and gradients of the projections, are then
// bit-identical to plain multi-head attention.
//
// Parameters of DeepSeek's models that have the same shapes:
//
//   latent, latent_norm                kv_a_proj_with_mqa, kv_a_layernorm
//   key, value                         the rows of each head in kv_b_proj
//   query                              q_proj, or q_b_proj with query_rank
//   query_latent, query_latent_norm    q_a_proj, q_a_layernorm
#ifndef ATTENTION_LATENT_H_
#define ATTENTION_LATENT_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "attention/attention_registry.h"
#include "attention/latent.pb.h"
#include "attention/position_encoding.h"
#include "attention/positions.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {

class Attention;

struct LatentAttentionWidths {
  int64_t query_input = 0;  // width of the queries' input
  int64_t key_input = 0;    // width of the input of keys and values
  int64_t heads = 1;
  // Numbers of key heads and of value heads, which must divide `heads`.
  int64_t key_heads = heads;
  int64_t value_heads = heads;
  int64_t head = 0;  // width of a key without its rotary part
};

// Returns the options with `rank` and `rotary_width` filled in.
Latent LatentWithDefaults(const Latent& options,
                          const LatentAttentionWidths& widths);

// The widths with which the score is constructed. `complete` comes from
// LatentWithDefaults().
ScoreWidths LatentScoreWidths(const Latent& complete,
                              const LatentAttentionWidths& widths);

// Adds the problems of the fields of `options`, under paths relative to
// `options`.
void ValidateLatent(const Latent& options, const LatentAttentionWidths& widths,
                    ConfigProblems& problems);

// Validates options that are absent or contain `none`. Adds a note if fields
// other than `none` are set, because they have no effect.
void ValidateNoLatent(const Latent& options, ConfigProblems& problems);

// Adds the problems of combining a valid `attention` with `complete` options.
// Paths are relative to the message that contains both.
void ValidateLatentAttention(const AttentionRegistry& registry,
                             const Attention& attention, const Latent& complete,
                             const LatentAttentionWidths& widths,
                             ConfigProblems& problems);

// Parameters:
//
//   latent.{weight,bias}          [rank + rotary_width, key input]
//   query_latent.{weight,bias}    [query_rank, query input], if query_rank > 0
//   latent_norm.weight            with `norm`
//   query_latent_norm.weight      with `norm`, if query_rank > 0
template <typename T>
class LatentKeyValueLayer {
 public:
  // The arrays that a decoder caches.
  struct Source {
    Var<T> latents;  // [batch, 1, keys, rank]
    Var<T> rotary;   // [batch, 1, keys, rotary width]; the width may be 0
  };
  // The maps from a latent to the keys and to the values of all heads. Their
  // weights are [key heads * head, rank] and [value heads * value width, rank].
  struct Maps {
    const LinearLayer<T>& key;
    const LinearLayer<T>& value;
  };
  // Operands of attention. In the absorbed form, keys and values have one head.
  struct Operands {
    Var<T> queries;  // [batch, heads, queries, width]
    Var<T> keys;     // [batch, key heads, keys, width]
    Var<T> values;   // [batch, value heads, keys, value width]
  };

  LatentKeyValueLayer(const AttentionRegistry& registry, const Latent& complete,
                      const ParameterScope<T>& scope,
                      const LatentAttentionWidths& widths,
                      const LinearOptions& projection);

  // x [batch, queries, query input] -> the input of the projection of queries.
  Var<T> QueryInput(Forward<T>& forward, Var<T> x) const;

  // Computes the latents and the rotary parts of x [batch, keys, key input].
  // The first key is at `key_position`.
  Source Prepare(Forward<T>& forward, Var<T> x, int64_t key_position) const;

  // Returns the operands for queries [batch, heads, queries, head + rotary
  // width].
  Operands HeadOperands(Forward<T>& forward, Var<T> queries,
                        const Source& source, const Maps& maps,
                        const Positions& positions) const;

  // Maps a context that was computed from the operands of HeadOperands() to
  // [batch, heads, queries, value width].
  Var<T> Context(Forward<T>& forward, Var<T> context, const Maps& maps) const;

 private:
  Latent options_;
  LatentAttentionWidths widths_;
  LinearLayer<T> latent_;
  std::optional<NormLayer<T>> norm_;
  std::optional<LinearLayer<T>> query_latent_;
  std::optional<NormLayer<T>> query_norm_;
  std::unique_ptr<PositionEncoding<T>> rotary_;  // null without a rotary part
};

}  // namespace regard

#endif  // ATTENTION_LATENT_H_
