# Sends each statement of a file, which are separated by lines "--"; writes results as lines.
suppressMessages(library(RPostgreSQL))
given <- commandArgs(trailingOnly = TRUE)
statements <- strsplit(paste(readLines(given[1], encoding = "UTF-8"), collapse = "\n"), "\n--\n")[[1]]
line <- dbConnect(PostgreSQL(), host = "127.0.0.1", port = as.integer(given[2]), user = given[3],
                  password = Sys.getenv("PGPASSWORD"), dbname = "errorfloor")
written <- function(value) {
  if (is.na(value)) "null" else if (is.numeric(value)) sprintf("%.17g", value) else as.character(value)
}
for (one in statements) {
  said <- tryCatch({
    found <- suppressWarnings(dbGetQuery(line, one))
    problem <- dbGetException(line)$errorMsg
    if (is.null(found) && nchar(problem) > 0 && problem != "OK") stop(problem)
    if (is.data.frame(found) && ncol(found) > 0) {
      cat(paste(c("names", names(found)), collapse = "\t"), "\n", sep = "")
      for (i in seq_len(nrow(found))) {
        cat(paste(c("row", sapply(found[i, ], written)), collapse = "\t"), "\n", sep = "")
      }
    }
  }, error = function(problem) {
    text <- sub("^.*ERROR: +", "", gsub("\n", "\\\\n", conditionMessage(problem)))
    cat("error\t\t", sub("\\\\nDETAIL:.*$|\\\\nHINT:.*$|\\\\n\\)?$", "", text), "\n", sep = "")
  })
  cat("end\n")
}
invisible(dbDisconnect(line))
