# The numbers in this folder, from R and its stats package alone (Debian: r-base-core).
#
#     Rscript tests/golden/golden.R tests/golden
#
# writes them again. Nothing here comes from sfit: what the paper says is written out once more, in
# another language, on another program's binomial law, corrections, deviances and fitted models.

folder <- commandArgs(trailingOnly = TRUE)[1]

write_numbers <- function(name, table) {
  # Doubles with all their digits.
  text <- lapply(table, function(column) {
    if (is.character(column) || is.integer(column)) as.character(column) else sprintf("%.17g", column)
  })
  path <- file.path(folder, paste0(name, ".csv"))
  writeLines(paste("#", R.version.string), path)
  suppressWarnings(write.table(as.data.frame(text), path, append = TRUE, sep = ",",
                               quote = FALSE, row.names = FALSE))
}

# ---- the sign test: binom.test itself -------------------------------------------------------

n <- integer(0); n_positive <- integer(0)
for (size in c(1:12, 17, 44, 50, 67, 120, 200, 999, 1000, 10000, 1000000)) {
  near <- c(0, 1, size - 1, size, round(size / 2 + seq(-3, 5) * sqrt(size) / 2))
  near <- sort(unique(pmin(pmax(near, 0), size)))
  n <- c(n, rep(as.integer(size), length(near))); n_positive <- c(n_positive, as.integer(near))
}
p <- mapply(function(k, size) binom.test(k, size, 0.5, alternative = "greater")$p.value, n_positive, n)
write_numbers("p_values", data.frame(n_positive, n, p_value = p))

# ---- ranks, counts and levels ---------------------------------------------------------------

# pbinom(4, 9, 1/2) is half a unit below the true 1/2: rounded before it is compared with a level.
largest_k <- function(n, limit, fits) {
  k <- qbinom(limit, n, 0.5) + 2
  while (k >= 0 && !fits(signif(pbinom(k, n, 0.5), 13))) k <- k - 1
  k
}
levels <- expand.grid(n = c(1:30, 44, 50, 67, 100, 200, 499, 500, 1000, 4999, 5000, 10000, 100000, 1000000),
                      alpha = c(0.001, 0.01, 0.05, 0.0625, 0.1, 0.3, 0.5))
levels$k <- mapply(function(n, alpha) largest_k(n, alpha / 2, function(P) 2 * P <= alpha),
                   levels$n, levels$alpha)
levels$coverage <- ifelse(levels$k < 0, 1, 1 - 2 * pbinom(levels$k, levels$n, 0.5))
levels$lower <- 1 + mapply(function(n, alpha) largest_k(n, alpha, function(P) P < alpha),
                           levels$n, levels$alpha)
levels$critical <- levels$n - levels$lower + 1
half <- qnorm(1 - levels$alpha / 2) * sqrt(levels$n) / 2
levels$asymptotic_low <- pmax(1, floor((levels$n + 1) / 2 - half))
levels$asymptotic_high <- pmin(levels$n, ceiling((levels$n + 1) / 2 + half))
write_numbers("levels", levels)

# ---- power, and the rows from which on it holds ---------------------------------------------

critical <- function(n, alpha) n - mapply(function(size) largest_k(size, alpha, function(P) P < alpha), n)
power <- function(n, probability, alpha) {
  pbinom(critical(n, alpha) - 1, n, probability, lower.tail = FALSE)
}
plans <- expand.grid(n = c(10, 50, 120, 200, 1000, 10000), probability = c(0.4, 0.5, 0.52, 0.6, 0.75, 0.95),
                     alpha = c(0.01, 0.05, 0.2))
plans$power <- mapply(power, plans$n, plans$probability, plans$alpha)
write_numbers("power", plans)

wanted <- expand.grid(probability = c(0.55, 0.6, 0.7, 0.9), alpha = c(0.01, 0.05), power = c(0.5, 0.8, 0.95))
wanted$rows <- mapply(function(probability, alpha, goal) {
  n <- 1:4000
  max(c(0, n[power(n, probability, alpha) < goal])) + 1
}, wanted$probability, wanted$alpha, wanted$power)
stopifnot(max(wanted$rows) < 3000)
write_numbers("rows_needed", wanted)

# ---- corrections: p.adjust ------------------------------------------------------------------

set.seed(1)
families <- list(c(0.01, 0.04, 0.03, 0.005, 0.5), c(0.02, 0.02, 0.02), 0.04, c(1, 1), runif(20)^4,
                 round(runif(12), 1), c(0, 1e-300, 1e-17, 0.2, 0.2, 1))
adjusted <- do.call(rbind, lapply(seq_along(families), function(number) {
  p <- families[[number]]
  data.frame(family = number, p, fdr_by = p.adjust(p, "BY"), fdr_bh = p.adjust(p, "BH"),
             holm = p.adjust(p, "holm"), bonferroni = p.adjust(p, "bonferroni"))
}))
write_numbers("adjusted", adjusted)

# ---- losses: the deviance residuals of R's families -----------------------------------------

prediction <- c(0.05, 0.3, 0.5, 0.9, 1e-6, 0.999, 0.2, 0.7)
counts <- c(0, 1, 2, 0, 3, 1, 7, 4)
classes <- c(0, 1, 1, 0, 1, 1, 0, 0)
write_numbers("losses", data.frame(
  prediction, counts, classes,
  absolute_error = abs(counts - prediction),
  squared_error = gaussian()$dev.resids(counts, prediction, 1),
  poisson = poisson()$dev.resids(counts, prediction, 1),
  log_loss = binomial()$dev.resids(classes, prediction, 1) / 2,
  brier = (classes - prediction)^2,
  zero_one = as.numeric((prediction > 0.5) != classes)))

# ---- Algorithms 1 and 2 from end to end, on models fitted by lm and glm ----------------------

n <- 401
rows <- data.frame(a = rnorm(n), b = rnorm(n), c = rnorm(n), d = rbinom(n, 3, 0.4))
rows$value <- 2 * rows$a + 1.5 * rows$a * rows$b + 0.6 * rows$d + rnorm(n)
rows$label <- rbinom(n, 1, plogis(1.5 * rows$a + rows$d - 1.5))
rows$count <- rpois(n, exp(0.7 * rows$a - 0.3 * rows$d))
write_numbers("rows", rows)

features <- c("a", "b", "c", "d")
reference <- colMeans(rows[features])
reveal <- function(shown) {
  masked <- as.data.frame(as.list(reference))[rep(1, n), ]
  masked[shown] <- rows[shown]
  masked
}
fits <- list(
  absolute_error = lm(value ~ a * b + c + d, rows),
  log_loss = glm(label ~ a * b + c + d, binomial, rows),
  poisson = glm(count ~ a * b + c + d, poisson, rows))
loss_of <- list(
  absolute_error = function(prediction) abs(rows$value - prediction),
  log_loss = function(prediction) binomial()$dev.resids(rows$label, prediction, 1) / 2,
  poisson = function(prediction) poisson()$dev.resids(rows$count, prediction, 1))

sign_test <- function(base, full, beta, alpha) {
  rho <- (base - full) / base
  delta <- sort((1 - beta) * base - full)
  positive <- sum(rho > beta)
  k <- largest_k(n, alpha / 2, function(P) 2 * P <= alpha)
  lower <- 1 + largest_k(n, alpha, function(P) P < alpha)
  threshold <- sort(rho)[lower]
  data.frame(n_positive = as.integer(positive), statistic = median(delta), ci_low = delta[1 + k],
             ci_high = delta[n - k], ci_lower = delta[lower],
             p_value = binom.test(positive, n, 0.5, alternative = "greater")$p.value,
             beta_max = if (threshold > 0) threshold else NaN)
}

alpha <- 0.05
tests <- data.frame(); gates <- data.frame(); coefficients <- data.frame()
for (loss in names(fits)) for (beta in c(0, 0.01, 0.05)) {
  fit <- fits[[loss]]
  losses <- function(shown) loss_of[[loss]](predict(fit, reveal(shown), type = "response"))
  nothing <- losses(character(0))
  first <- do.call(rbind, lapply(features, function(j) {
    cbind(loss, beta, order = 1L, term = j, base = "-", sign_test(nothing, losses(j), beta, alpha))
  }))
  first$p_adjusted <- p.adjust(first$p_value, "BY")
  found <- features[first$p_adjusted < alpha]
  gate <- function(order, found) {
    tested <- sign_test(losses(found), losses(features), 0, alpha)
    if (length(found) == length(features)) tested$n_positive <- 0L
    data.frame(loss, beta, after_order = order, found = paste(c(found, ""), collapse = " "),
               n_positive = tested$n_positive)
  }
  gates <- rbind(gates, gate(1L, found))
  tests <- rbind(tests, first)
  # Algorithm 2: j not found, k any other feature; over {k} where k was found, else over nothing.
  pairs <- combn(features, 2, simplify = FALSE)
  pairs <- Filter(function(pair) !all(pair %in% found), pairs)
  open <- binom.test(tail(gates$n_positive, 1), n, 0.5, alternative = "greater")$p.value < alpha
  if (open && length(pairs)) {
    second <- do.call(rbind, lapply(pairs, function(pair) {
      base <- intersect(pair, found)
      cbind(loss, beta, order = 2L, term = paste(pair, collapse = " "),
            base = if (length(base)) base else "-",
            sign_test(losses(base), losses(pair), beta, alpha))
    }))
    second$p_adjusted <- p.adjust(second$p_value, "BY")
    new <- unlist(pairs[second$p_adjusted < alpha])
    gates <- rbind(gates, gate(2L, features[features %in% c(found, new)]))
    tests <- rbind(tests, second)
  }
}
for (loss in names(fits)) {
  fitted <- coef(fits[[loss]])
  coefficients <- rbind(coefficients, data.frame(loss, name = names(fitted), value = unname(fitted)))
}
write_numbers("coefficients", coefficients)
write_numbers("tests", tests)
write_numbers("gates", gates)
