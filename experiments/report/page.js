// Draws each plot from the numbers beside it.
(function () {
  'use strict';
  if (typeof Chart === 'undefined') return;

  function color(name) {
    return getComputedStyle(document.documentElement)
        .getPropertyValue(name).trim();
  }

  // Beyond seven series colours begin again; dots and dashes tell them apart.
  function dash(series, index) {
    if (series.style === 'dashed') return [7, 5];
    return [[], [2, 3], [10, 3, 2, 3]][Math.floor(index / 7) % 3];
  }

  function dataset(series, index, log) {
    const shade = color('--c' + index % 7);
    const points = series.style === 'points';
    return {
      label: series.name,
      data: series.xs.map(function (x, i) {
        const y = series.ys[i];
        return {x: x, y: y === null || (log && y <= 0) ? NaN : y};
      }),
      showLine: !points,
      borderColor: shade,
      backgroundColor: shade,
      borderWidth: points ? 0 : 2,
      borderDash: dash(series, index),
      pointStyle: points || series.xs.length === 1 ? 'circle' : 'line',
      pointRadius: points || series.xs.length === 1 ? 3 : 0,
      pointHitRadius: 8,
      order: -index,  // later series lie on top
    };
  }

  // The two edges of a series' band, the area between them filled.
  function band(series, index, log) {
    const shade = color('--c' + index % 7);
    return [-1, 1].map(function (sign) {
      return {
        data: series.xs.map(function (x, i) {
          const half = series.band[i];
          const y = series.ys[i] + sign * half;
          const none = series.ys[i] === null || half === null ||
              (log && series.ys[i] - half <= 0);
          return {x: x, y: none ? NaN : y};
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

  // Room about a value that never changes: Chart.js gives it 1 on both sides,
  // however small it is.
  function roomAboutConstant(plot) {
    const values = plot.series.flatMap(function (series) {
      return series.ys.flatMap(function (y, i) {
        const half = series.band ? series.band[i] : 0;
        return y === null ? [] : [y - half, y + half];
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

  // Makes an entry of the legend show and hide its series.
  function switchable(item, chart, index, signal) {
    item.setAttribute('role', 'button');
    item.tabIndex = 0;
    item.classList.remove('off');
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
    item.addEventListener('click', toggle, {signal: signal});
    item.addEventListener('keydown', toggle, {signal: signal});
  }

  function draw(figure) {
    const plot =
        JSON.parse(figure.querySelector('script[type="application/json"]')
                       .textContent);
    const canvas = figure.querySelector('canvas');
    const chart = new Chart(canvas, {
      type: 'scatter',
      data: {
        datasets: plot.series.map(function (series, index) {
          return dataset(series, index, plot.log);
        }).concat(...plot.series.map(function (series, index) {
          return series.band ? band(series, index, plot.log) : [];
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
          legend: {display: false},  // the figure has its own
          tooltip: {
            filter: function (item) { return item.dataset.band === undefined; },
          },
        },
      },
    });
    const forget = new AbortController();
    figure.querySelectorAll('.item').forEach(function (item, index) {
      switchable(item, chart, index, forget.signal);
    });
    return function () {
      forget.abort();
      chart.destroy();
    };
  }

  function drawAll() {
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    return Array.from(document.querySelectorAll('figure.plot'), draw);
  }

  let undo = drawAll();
  matchMedia('(prefers-color-scheme: dark)')
      .addEventListener('change', function () {
        undo.forEach(function (f) { f(); });
        undo = drawAll();
      });
})();
