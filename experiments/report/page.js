// Draws the figures of a page: plots with Chart.js, heat maps as SVG.
(function () {
  'use strict';

  function color(name) {
    return getComputedStyle(document.documentElement)
        .getPropertyValue(name).trim();
  }

  // Dashes by style. page.css draws the keys of the legend in the same style.
  const kDashes = {
    line: [], points: [],
    dashed: [7, 5], dotted: [2, 3], dashdot: [10, 3, 2, 3],
  };

  // Returns the style of a line. Colours repeat after seven series, so dots and
  // dashes distinguish series of the same colour.
  function style(series, index) {
    if (series.style !== 'line') return series.style;
    return ['line', 'dotted', 'dashdot'][Math.floor(index / 7) % 3];
  }

  function dataset(series, index, log) {
    const shade = color('--c' + index % 7);
    const points = series.style === 'points';
    const data = series.xs.map(function (x, i) {
      const y = series.ys[i];
      return {x: x, y: y === null || (log && y <= 0) ? NaN : y};
    });
    // Draws a value between two gaps as a point, because it has no line.
    const shown = data.map(function (point, i) {
      return points || [data[i - 1], data[i + 1]].every(function (other) {
        return !other || isNaN(other.y);
      });
    });
    return {
      label: series.name,
      data: data,
      showLine: !points,
      borderColor: shade,
      backgroundColor: shade,
      borderWidth: points ? 0 : 2,
      borderDash: kDashes[style(series, index)],
      pointStyle: shown.map(function (is) { return is ? 'circle' : 'line'; }),
      pointRadius: shown.map(function (is) { return is ? 3 : 0; }),
      pointHitRadius: 8,
      order: -index,  // later series are on top
    };
  }

  // Returns the lower and upper edge of the band of a series. The area between
  // them is filled.
  function band(series, index, log) {
    const shade = color('--c' + index % 7);
    return [-1, 1].map(function (sign) {
      return {
        data: series.xs.map(function (x, i) {
          const low = series.low[i];
          const high = series.high[i];
          const none = series.ys[i] === null || low === null ||
              high === null || (log && low <= 0);
          return {x: x, y: none ? NaN : sign < 0 ? low : high};
        }),
        band: index,
        showLine: true,
        borderWidth: 0,
        pointRadius: 0,
        pointHitRadius: 0,
        backgroundColor: shade + '2e',
        fill: sign > 0 ? '-1' : false,
        order: 1,  // below all lines
      };
    });
  }

  function axis(title, type) {
    return {
      type: type,
      title: {display: true, text: title, color: color('--muted')},
      ticks: {color: color('--muted'), maxRotation: 0},
      grid: {color: color('--line'), drawTicks: false},
    };
  }

  // Returns the limits of an axis around a constant value. Chart.js would add 1
  // on both sides even if the value is small.
  function roomAboutConstant(plot) {
    const values = plot.series.flatMap(function (series) {
      return series.ys.flatMap(function (y, i) {
        if (y === null) return [];
        return series.low ? [y, series.low[i], series.high[i]] : [y];
      });
    });
    const value = values[0];
    if (plot.log || !value ||
        values.some(function (other) { return other !== value; })) {
      return {};
    }
    const half = Math.abs(value) / 2;
    return {suggestedMin: value - half, suggestedMax: value + half};
  }

  function make(name, className, parent, text) {
    const element = document.createElement(name);
    element.className = className;
    element.textContent = text || '';
    parent.append(element);
    return element;
  }

  // Adds an entry to the legend. Clicking it shows or hides its series.
  function addToLegend(legend, series, chart, index) {
    const item = make('span', 'item', legend);
    make('span', 'key k' + index % 7 + ' ' + style(series, index), item);
    item.append(series.name);
    item.setAttribute('role', 'button');
    item.tabIndex = 0;
    function toggle(event) {
      if (event.type === 'keydown' && event.key !== 'Enter' &&
          event.key !== ' ') {
        return;
      }
      event.preventDefault();
      const shown = !chart.isDatasetVisible(index);
      chart.data.datasets.forEach(function (dataset, i) {
        if (i === index || dataset.band === index) {
          chart.setDatasetVisibility(i, shown);
        }
      });
      chart.update();
      item.classList.toggle('off', !shown);
    }
    item.addEventListener('click', toggle);
    item.addEventListener('keydown', toggle);
  }

  function drawPlot(figure, plot) {
    const canvas = figure.querySelector('canvas');
    const chart = new Chart(canvas, {
      type: 'scatter',
      data: {
        datasets: plot.series.map(function (series, index) {
          return dataset(series, index, plot.log);
        }).concat(...plot.series.map(function (series, index) {
          return series.low ? band(series, index, plot.log) : [];
        })),
      },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: {mode: 'nearest', axis: 'x', intersect: false},
        scales: {
          x: axis(plot.x, 'linear'),
          y: Object.assign(axis(plot.y, plot.log ? 'logarithmic' : 'linear'),
                           roomAboutConstant(plot)),
        },
        plugins: {
          legend: {display: false},  // the figure has its own legend
          tooltip: {
            filter: function (item) { return item.dataset.band === undefined; },
          },
        },
      },
    });
    const legend = make('p', 'legend', figure);
    plot.series.forEach(function (series, index) {
      addToLegend(legend, series, chart, index);
    });
    return function () {
      legend.remove();
      chart.destroy();
    };
  }

  function setAttributes(element, attributes) {
    Object.keys(attributes).forEach(function (key) {
      element.setAttribute(key, attributes[key]);
    });
  }

  function makeSvg(name, attributes, parent, text) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    setAttributes(element, attributes);
    element.textContent = text || '';
    parent.append(element);
  }

  // Returns a function that maps a value to a colour. Values from 0 to
  // `largest` have one colour scale, and negative values have another.
  function colorScale(largest) {
    const ramps = ['--stops', '--negative-stops'].map(function (name) {
      return color(name).split(',').map(function (stop) {
        return [1, 3, 5].map(function (at) {
          return parseInt(stop.trim().substr(at, 2), 16);
        });
      });
    });
    return function (value) {
      if (!isFinite(value)) return 'var(--muted)';
      const stops = ramps[value < 0 ? 1 : 0];
      const scaled = Math.min(Math.abs(value) / largest, 1) * (stops.length - 1);
      const stop = Math.min(Math.floor(scaled), stops.length - 2);
      return 'rgb(' + stops[stop].map(function (from, channel) {
        return Math.round(
            from + (scaled - stop) * (stops[stop + 1][channel] - from));
      }).join(',') + ')';
    };
  }

  function clamp(value, least, most) {
    return Math.min(Math.max(value, least), most);
  }

  const kLongestLabel = 24;  // characters

  function labelOf(token) {
    const characters = Array.from(token);
    if (characters.length <= kLongestLabel) return token;
    return characters.slice(0, kLongestLabel - 1).join('') + '…';
  }

  function widest(tokens, font) {
    const context = document.createElement('canvas').getContext('2d');
    context.font = font + 'px ' + getComputedStyle(document.body).fontFamily;
    return tokens.reduce(function (most, token) {
      return Math.max(most, context.measureText(labelOf(token)).width);
    }, 8) + 6;
  }

  function textOf(value, decimals) {
    return decimals > 6 ? value.toExponential(2) : value.toFixed(decimals);
  }

  // Draws one head of a heat map. Labels of columns are at an angle of 45
  // degrees.
  function drawHead(svg, map, head) {
    const cell = clamp(
        Math.floor(600 / Math.max(map.rows.length, map.columns.length, 1)),
        7, 28);
    const font = clamp(cell - 2, 9, 13);
    const lean = widest(map.columns, font) * Math.SQRT1_2;
    const left = widest(map.rows, font) + 4;
    const top = lean + font;
    const right = left + map.columns.length * cell;
    const width = right + Math.max(lean, 44) + 8;
    const height = top + map.rows.length * cell + 4;
    svg.replaceChildren();
    setAttributes(svg, {
      width: width, height: height,
      viewBox: '0 0 ' + width + ' ' + height, 'font-size': font,
    });
    const fill = colorScale(map.largest);
    map.columns.forEach(function (column, c) {
      // Omits labels for which there is not enough space.
      if (c % Math.ceil(font / Math.SQRT1_2 / cell) !== 0) return;
      const x = left + (c + 0.5) * cell;
      makeSvg('text', {
        transform: 'translate(' + x + ',' + (top - 5) + ')rotate(-45)',
      }, svg, labelOf(column));
    });
    map.rows.forEach(function (row, r) {
      const y = top + r * cell;
      const middle = y + cell / 2 + font * 0.35;
      if (r % Math.ceil(font / cell) === 0) {
        makeSvg('text', {class: 'end', x: left - 5, y: middle}, svg,
                labelOf(row));
        if (head.sums) {
          makeSvg('text', {class: 'sum', x: right + 6, y: middle}, svg,
                  head.sums[r]);
        }
      }
      map.columns.forEach(function (column, c) {
        const text = head.values[r * map.columns.length + c];
        const value = text / 10 ** map.decimals;
        makeSvg('rect', {
          class: 'cell', x: left + c * cell, y: y, width: cell, height: cell,
          fill: fill(value),
          'data-tip': row + ' ← ' + column + ': ' +
              (isFinite(value) ? textOf(value, map.decimals) : text),
        }, svg);
      });
    });
    map.gold.forEach(function (at) {
      makeSvg('rect', {
        class: 'gold', x: left + at[1] * cell + 1, y: top + at[0] * cell + 1,
        width: cell - 2, height: cell - 2,
      }, svg);
    });
  }

  function drawHeatMap(figure, map) {
    const svg = figure.querySelector('svg');
    const choices = make('p', 'heads', figure);
    figure.querySelector('.drawing').before(choices);
    map.heads.forEach(function (head, index) {
      const choice = make('label', '', choices);
      const input = make('input', '', choice);
      input.type = 'radio';
      input.name = figure.id;
      make('span', '', choice, 'head ' + index);
      input.addEventListener('change', function () {
        drawHead(svg, map, head);
      });
      if (index === 0) input.click();
    });
    choices.hidden = map.heads.length < 2;
    return function () { choices.remove(); };
  }

  function drawAll() {
    if (typeof Chart !== 'undefined') {
      Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    }
    return JSON.parse(document.getElementById('figures').textContent)
        .map(function (data, index) {
          const figure = document.getElementById('f' + index);
          return (data.series ? drawPlot : drawHeatMap)(figure, data);
        });
  }

  // Shows the value of the cell under the pointer.
  const tip = make('div', 'tip', document.body);
  tip.hidden = true;
  function showTip(event) {
    tip.textContent = event.target.dataset.tip || '';
    tip.hidden = tip.textContent === '';
    if (tip.hidden) return;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 4;
    tip.style.left = clamp(event.clientX + 14, 4, Math.max(room, 4)) + 'px';
    tip.style.top = event.clientY + 18 + 'px';
  }
  document.addEventListener('pointermove', showTip);
  document.addEventListener('pointerdown', showTip);
  document.addEventListener('scroll', function () { tip.hidden = true; }, true);

  let undo = drawAll();
  matchMedia('(prefers-color-scheme: dark)')
      .addEventListener('change', function () {
        undo.forEach(function (f) { f(); });
        undo = drawAll();
      });
})();
